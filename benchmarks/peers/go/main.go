// What go-msgauth does to the mail that dkimpy is given, its key record answered at once; timed inside.
// `peer FOLDER`, then a number of times a line; answers with seconds.
package main

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/emersion/go-msgauth/dkim"
)

func main() {
	mail := read("mail")
	record := string(read("record"))
	options := &dkim.VerifyOptions{LookupTXT: func(string) ([]string, error) { return []string{record}, nil }}
	var times int
	for verify(mail, options); ; {
		if _, err := fmt.Scanln(&times); err != nil {
			return
		}
		begin := time.Now()
		for range times {
			verify(mail, options)
		}
		fmt.Println(time.Since(begin).Seconds())
	}
}

func read(name string) []byte {
	data, err := os.ReadFile(filepath.Join(os.Args[1], name))
	if err != nil {
		log.Fatal(err)
	}
	return data
}

func verify(mail []byte, options *dkim.VerifyOptions) {
	found, err := dkim.VerifyWithOptions(bytes.NewReader(mail), options)
	if err != nil || len(found) != 1 || found[0].Err != nil {
		log.Fatal("go-msgauth refuses dkimpy's signature: ", err, found)
	}
}
