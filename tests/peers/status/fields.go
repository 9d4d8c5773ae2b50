package main

import (
	"encoding/base64"
	"fmt"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// The fields that a message has, by their names in the .proto: bytes in base64, enums as numbers, integers of 64 bits
// as decimal text.
func fieldsOf(message protoreflect.Message) map[string]any {
	fields := map[string]any{}
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		name := string(field.Name())
		if field.IsList() {
			items := []any{}
			for number := range value.List().Len() {
				items = append(items, toJSON(field, value.List().Get(number)))
			}
			fields[name] = items
		} else {
			fields[name] = toJSON(field, value)
		}
		return true
	})
	return fields
}

func toJSON(field protoreflect.FieldDescriptor, value protoreflect.Value) any {
	switch field.Kind() {
	case protoreflect.MessageKind:
		return fieldsOf(value.Message())
	case protoreflect.EnumKind:
		return value.Enum()
	case protoreflect.Uint64Kind:
		return value.String()
	default:
		return value.Interface()
	}
}

// Sets the fields of a message to what fieldsOf said.
func setFields(message protoreflect.Message, members map[string]any) error {
	for name, member := range members {
		field := message.Descriptor().Fields().ByName(protoreflect.Name(name))
		if field == nil {
			return fmt.Errorf("%s has no field %s", message.Descriptor().Name(), name)
		}
		if items, ok := member.([]any); ok && field.IsList() {
			list := message.Mutable(field).List()
			for _, item := range items {
				if inner, ok := item.(map[string]any); ok && field.Kind() == protoreflect.MessageKind {
					if err := setFields(list.AppendMutable().Message(), inner); err != nil {
						return err
					}
				} else if value, err := fromJSON(field, item); err != nil {
					return err
				} else {
					list.Append(value)
				}
			}
		} else if field.Kind() == protoreflect.MessageKind {
			inner, ok := member.(map[string]any)
			if !ok {
				return fmt.Errorf("%s is no object", name)
			}
			if err := setFields(message.Mutable(field).Message(), inner); err != nil {
				return err
			}
		} else {
			value, err := fromJSON(field, member)
			if err != nil {
				return err
			}
			message.Set(field, value)
		}
	}
	return nil
}

func fromJSON(field protoreflect.FieldDescriptor, member any) (protoreflect.Value, error) {
	switch value := member.(type) {
	case bool:
		if field.Kind() == protoreflect.BoolKind {
			return protoreflect.ValueOfBool(value), nil
		}
	case float64:
		switch field.Kind() {
		case protoreflect.EnumKind:
			return protoreflect.ValueOfEnum(protoreflect.EnumNumber(value)), nil
		case protoreflect.Int32Kind:
			return protoreflect.ValueOfInt32(int32(value)), nil
		case protoreflect.Uint32Kind:
			return protoreflect.ValueOfUint32(uint32(value)), nil
		}
	case string:
		switch field.Kind() {
		case protoreflect.StringKind:
			return protoreflect.ValueOfString(value), nil
		case protoreflect.BytesKind:
			data, err := base64.StdEncoding.DecodeString(value)
			return protoreflect.ValueOfBytes(data), err
		case protoreflect.Uint64Kind:
			number, err := strconv.ParseUint(value, 10, 64)
			return protoreflect.ValueOfUint64(number), err
		}
	}
	return protoreflect.Value{}, fmt.Errorf("%s: %v is no %s", field.Name(), member, field.Kind())
}

// Whether a message, or one in it, has a field whose number its type knows, but in another wire type: the module keeps
// it as unknown.
func hasStrays(message protoreflect.Message) bool {
	known := message.Descriptor().Fields()
	for unknown := message.GetUnknown(); len(unknown) > 0; {
		number, _, length := protowire.ConsumeField(unknown)
		if known.ByNumber(number) != nil {
			return true
		}
		unknown = unknown[length:]
	}
	found := false
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		// Lists are of messages without known fields.
		found = field.Kind() == protoreflect.MessageKind && !field.IsList() && hasStrays(value.Message())
		return !found
	})
	return found
}
