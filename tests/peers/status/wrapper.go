package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"postroom/tests/peers/status/payloads"
)

// What a wrapper holds. Error: what is wrong with the wrapper, its signature or its payload; what was read before stands.
type opened struct {
	Type   int32  `json:"type"`
	Signed bool   `json:"signed"`
	Author string `json:"author"`
	ID     string `json:"id"`
	// The payload's bytes.
	Payload []byte         `json:"payload"`
	Fields  map[string]any `json:"fields"`
	// Of wrapper and payload: whether they have a field that their message knows, but in another wire type.
	Strays []string `json:"strays"`
	Error  string   `json:"error"`
}

func (found *opened) failed(where string, err error) {
	found.Error = where + ": " + textOfError(err)
}

// The protobuf module writes some spaces as U+00A0, so that nobody compares its errors.
func textOfError(err error) string {
	return strings.ReplaceAll(err.Error(), "\u00a0", " ")
}

// What both forms of a wrapper have.
type wrapper interface {
	proto.Message
	GetSignature() []byte
	GetPayload() []byte
}

func openWrapper(data []byte, typed bool, name *string) (*opened, error) {
	found := &opened{Strays: []string{}}
	var outer wrapper = &payloads.StatusProtocolMessage{}
	if typed {
		outer = &payloads.ApplicationMetadataMessage{}
	}
	if err := proto.Unmarshal(data, outer); err != nil {
		found.failed("wrapper", err)
		return found, nil
	}
	if hasStrays(outer.ProtoReflect()) {
		found.Strays = append(found.Strays, "wrapper")
	}
	found.Payload = outer.GetPayload()
	found.Signed = len(outer.GetSignature()) > 0
	author, err := authorOf(outer.GetPayload(), outer.GetSignature())
	if err != nil {
		found.failed("signature", err)
		return found, nil
	}
	found.Author, found.ID = textOf(author), hexutil.Encode(crypto.Keccak256(author, data))
	if envelope, ok := outer.(*payloads.ApplicationMetadataMessage); ok {
		found.Type = int32(envelope.GetType())
		if known, ok := payloads.ApplicationMetadataMessage_Type_name[found.Type]; ok && name == nil {
			name = &known
		}
	}
	if name == nil || *name == payloads.ApplicationMetadataMessage_UNKNOWN.String() {
		return found, nil
	}
	payload, err := newMessage(*name)
	if err != nil {
		return nil, err
	}
	if err := proto.Unmarshal(outer.GetPayload(), payload); err != nil {
		found.failed("payload", err)
		return found, nil
	}
	if hasStrays(payload.ProtoReflect()) {
		found.Strays = append(found.Strays, "payload")
	}
	found.Fields = fieldsOf(payload.ProtoReflect())
	return found, nil
}

// A new wrapper; without a secret, an unsigned one.
func wrap(name string, members map[string]any, secret *string, typed bool) (any, error) {
	message, err := newMessage(name)
	if err != nil {
		return nil, err
	}
	if err := setFields(message.ProtoReflect(), members); err != nil {
		return nil, err
	}
	payload, err := proto.Marshal(message)
	if err != nil {
		return nil, err
	}
	var signature, author []byte
	if secret != nil {
		if signature, author, err = sign(*secret, payload); err != nil {
			return nil, err
		}
	}
	var outer proto.Message = &payloads.StatusProtocolMessage{Signature: signature, Payload: payload}
	if typed {
		number := payloads.ApplicationMetadataMessage_Type_value[name]
		kind := payloads.ApplicationMetadataMessage_Type(number)
		outer = &payloads.ApplicationMetadataMessage{Signature: signature, Payload: payload, Type: kind}
	}
	data, err := proto.Marshal(outer)
	if err != nil {
		return nil, err
	}
	id := hexutil.Encode(crypto.Keccak256(author, data))
	return map[string]any{"wrapper": data, "id": id, "author": textOf(author)}, nil
}

// What Status's node does to read a typed wrapper: one recovery for it, and one for each event.
func verify(data []byte) error {
	var outer payloads.ApplicationMetadataMessage
	if err := proto.Unmarshal(data, &outer); err != nil {
		return err
	}
	author, err := authorOf(outer.Payload, outer.Signature)
	if err != nil {
		return err
	}
	crypto.Keccak256(author, data)
	switch outer.Type {
	case payloads.ApplicationMetadataMessage_CHAT_MESSAGE:
		return proto.Unmarshal(outer.Payload, &payloads.ChatMessage{})
	case payloads.ApplicationMetadataMessage_MEMBERSHIP_UPDATE_MESSAGE:
		var update payloads.MembershipUpdateMessage
		if err := proto.Unmarshal(outer.Payload, &update); err != nil {
			return err
		}
		for _, raw := range update.Events {
			if _, _, err := readEvent(update.ChatId, raw); err != nil {
				return err
			}
		}
		return nil
	default:
		return errors.New("only texts and updates of groups are timed")
	}
}

// The message of a type's name: CHAT_MESSAGE is a ChatMessage.
func newMessage(name string) (proto.Message, error) {
	var camel strings.Builder
	for _, word := range strings.Split(name, "_") {
		if word != "" {
			camel.WriteString(word[:1] + strings.ToLower(word[1:]))
		}
	}
	full := protoreflect.FullName("status.peer." + camel.String())
	kind, err := protoregistry.GlobalTypes.FindMessageByName(full)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return kind.New().Interface(), nil
}

// The author's uncompressed key, or nothing without a signature.
func authorOf(signed, signature []byte) ([]byte, error) {
	if len(signature) == 0 {
		return nil, nil
	}
	key, err := crypto.SigToPub(crypto.Keccak256(signed), signature)
	if err != nil {
		return nil, err
	}
	return crypto.FromECDSAPub(key), nil
}

func sign(secret string, data []byte) (signature, author []byte, err error) {
	key, err := crypto.HexToECDSA(secret)
	if err != nil {
		return nil, nil, err
	}
	signature, err = crypto.Sign(crypto.Keccak256(data), key)
	return signature, crypto.FromECDSAPub(&key.PublicKey), err
}

func textOf(author []byte) string {
	if author == nil {
		return ""
	}
	return hexutil.Encode(author)
}
