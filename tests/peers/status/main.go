//go:build cgo

// Reads, makes and times payloads of Status: protobuf by Go's own module, keys and hashes by go-ethereum's. The docs,
// evidence/peers.md, say how tests call it. Without cgo go-ethereum recovers keys by other code, which no node runs.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"

	"postroom/tests/peers/status/payloads"
)

// A function's arguments, as JSON.
type arguments []json.RawMessage

var functions = map[string]func(arguments) (any, error){
	"open": func(args arguments) (any, error) {
		var wrapper []byte
		var typed bool
		var name *string
		if err := args.into(&wrapper, &typed, &name); err != nil {
			return nil, err
		}
		return openWrapper(wrapper, typed, name)
	},
	"wrap": func(args arguments) (any, error) {
		var name string
		var members map[string]any
		var secret *string
		var typed bool
		if err := args.into(&name, &members, &secret, &typed); err != nil {
			return nil, err
		}
		return wrap(name, members, secret, typed)
	},
	"open_event": func(args arguments) (any, error) {
		var chatID string
		var raw []byte
		if err := args.into(&chatID, &raw); err != nil {
			return nil, err
		}
		return openEvent(chatID, raw), nil
	},
	"event": func(args arguments) (any, error) {
		var chatID string
		var members map[string]any
		var secret string
		if err := args.into(&chatID, &members, &secret); err != nil {
			return nil, err
		}
		return signEvent(chatID, members, secret)
	},
	// The .proto that the program was made with, as a FileDescriptorProto.
	"table": func(args arguments) (any, error) {
		if err := args.into(); err != nil {
			return nil, err
		}
		return proto.Marshal(protodesc.ToFileDescriptorProto(payloads.File_payloads_payloads_proto))
	},
	// The seconds of `runs` times reading a typed wrapper, whose events are read, too.
	"time": func(args arguments) (any, error) {
		var wrapper []byte
		var runs int
		if err := args.into(&wrapper, &runs); err != nil {
			return nil, err
		}
		begin := time.Now()
		for range runs {
			if err := verify(wrapper); err != nil {
				return nil, err
			}
		}
		return time.Since(begin).Seconds(), nil
	},
}

func (args arguments) into(targets ...any) error {
	if len(args) != len(targets) {
		return fmt.Errorf("%d arguments, and not %d", len(args), len(targets))
	}
	for number, target := range targets {
		if err := json.Unmarshal(args[number], target); err != nil {
			return err
		}
	}
	return nil
}

func answer(line []byte) any {
	var called struct {
		Call string
		Args arguments
	}
	err := json.Unmarshal(line, &called)
	if err == nil {
		function, found := functions[called.Call]
		if !found {
			err = errors.New("no such call")
		} else if result, failed := function(called.Args); failed != nil {
			err = failed
		} else {
			return map[string]any{"result": result}
		}
	}
	return map[string]any{"error": err.Error()}
}

// A line of standard input, {"call": NAME, "args": [...]}, is answered by a line of standard output, {"result": ...} or
// {"error": "..."}, as tests/peers/lines.py does.
func main() {
	input, output := bufio.NewReader(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		line, err := input.ReadBytes('\n')
		if err == io.EOF {
			return
		}
		if err == nil {
			err = output.Encode(answer(line))
		}
		if err != nil {
			log.Fatal(err)
		}
	}
}
