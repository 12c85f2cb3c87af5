package main

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
)

// store keeps objects as <directory>/<id>.json. A test reads them to see what the provider was
// told, and edits or removes them to make drift.
type store struct {
	directory string
}

// record is what one file holds.
type record struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Size     int64  `json:"size"`
	Revision int64  `json:"revision"`
	// Password shows that a write-only value arrived although no state holds it.
	Password string `json:"password,omitempty"`
}

func newID() string {
	bytes := make([]byte, 8)
	// crypto/rand does not fail on the systems we run on; it ends the program if it does.
	_, _ = rand.Read(bytes)
	return hex.EncodeToString(bytes)
}

func (s *store) file(id string) string {
	return filepath.Join(s.directory, id+".json")
}

func (s *store) write(r record) error {
	if err := os.MkdirAll(s.directory, 0o755); err != nil {
		return err
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	// All of it or nothing, also when this process is killed in between.
	draft := s.file(r.ID) + ".draft"
	if err := os.WriteFile(draft, append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(draft, s.file(r.ID))
}

// read returns nil for an object that does not exist.
func (s *store) read(id string) (*record, error) {
	text, err := os.ReadFile(s.file(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, err
	}
	return &r, nil
}

func (s *store) remove(id string) error {
	err := os.Remove(s.file(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// list returns all objects in the order of their names.
func (s *store) list() ([]record, error) {
	files, err := filepath.Glob(filepath.Join(s.directory, "*.json"))
	if err != nil {
		return nil, err
	}
	records := []record{}
	for _, file := range files {
		r, err := s.read(strings.TrimSuffix(filepath.Base(file), ".json"))
		if err != nil {
			return nil, err
		}
		if r != nil {
			records = append(records, *r)
		}
	}
	slices.SortFunc(records, func(a, b record) int {
		return strings.Compare(a.Name+a.ID, b.Name+b.ID)
	})
	return records, nil
}

func pathRoot(name string) path.Path {
	return path.Root(name)
}
