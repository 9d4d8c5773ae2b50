package main

import (
	"errors"
	"slices"

	"github.com/ethereum/go-ethereum/crypto"
	"google.golang.org/protobuf/proto"

	"postroom/tests/peers/status/payloads"
)

// What an event of an update holds, as `opened` has it.
type openedEvent struct {
	Author string         `json:"author"`
	Fields map[string]any `json:"fields"`
	Stray  bool           `json:"stray"`
	Error  string         `json:"error"`
}

// An event of an update is its signature and its bytes; the chat's id is signed before them.
func readEvent(chatID string, raw []byte) (author []byte, event *payloads.MembershipUpdateEvent, err error) {
	if len(raw) <= crypto.SignatureLength {
		return nil, nil, errors.New("invalid payload length")
	}
	signature, encoded := raw[:crypto.SignatureLength], raw[crypto.SignatureLength:]
	if author, err = authorOf(slices.Concat([]byte(chatID), encoded), signature); err != nil {
		return nil, nil, err
	}
	event = &payloads.MembershipUpdateEvent{}
	return author, event, proto.Unmarshal(encoded, event)
}

func openEvent(chatID string, raw []byte) openedEvent {
	author, event, err := readEvent(chatID, raw)
	if err != nil {
		return openedEvent{Error: textOfError(err)}
	}
	return openedEvent{textOf(author), fieldsOf(event.ProtoReflect()), hasStrays(event.ProtoReflect()), ""}
}

func signEvent(chatID string, members map[string]any, secret string) ([]byte, error) {
	event := &payloads.MembershipUpdateEvent{}
	if err := setFields(event.ProtoReflect(), members); err != nil {
		return nil, err
	}
	encoded, err := proto.Marshal(event)
	if err != nil {
		return nil, err
	}
	signature, _, err := sign(secret, slices.Concat([]byte(chatID), encoded))
	return slices.Concat(signature, encoded), err
}
