// SPDX-License-Identifier: Apache-2.0

// Package contract checks requests and responses against Discord's OpenAPI description, except for
// known Divergences. The description is not in this repository: DISCORD_OPENAPI has the path of
// its file. Without this variable, tests are skipped, or fail if REQUIRE_CONTRACT is set.
package contract

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi-validator/config"
	"github.com/pb33f/libopenapi-validator/errors"
)

// Variable is the environment variable with the path of the description, a JSON file.
const Variable = "DISCORD_OPENAPI"

// Contract is Discord's compiled OpenAPI description. It is safe for concurrent use.
type Contract struct {
	plain, messages func() (validator.Validator, error)
	fields          *fields
}

// Violation is a part of a request or response that Discord's OpenAPI description does not allow.
type Violation struct {
	Side string
	// Method and Path of the call, without webhook tokens.
	Method, Path string
	// Status of the response; 0 for requests.
	Status int
	// Field is a JSON path in the body ("$.name"); empty for the whole body.
	Field  string
	Reason string

	html     bool // the body is HTML
	unrouted bool // the description has no such path or method
}

func (v Violation) String() string {
	return fmt.Sprintf("%s of %s %s (%d) at %s: %s", v.Side, v.Method, v.Path, v.Status, v.Field, v.Reason)
}

// fromEnv loads the description once per test binary, because compiling it takes seconds.
var fromEnv = sync.OnceValues(func() (*Contract, error) { return Load(os.Getenv(Variable)) })

// FromEnv compiles the file that DISCORD_OPENAPI names. Without the variable, FromEnv skips the
// test, or fails the test if REQUIRE_CONTRACT is set.
func FromEnv(t testing.TB) *Contract {
	t.Helper()
	if os.Getenv(Variable) == "" {
		without := t.Skip
		if os.Getenv("REQUIRE_CONTRACT") != "" {
			without = t.Fatal
		}
		without("set " + Variable + " to the path of Discord's OpenAPI description (JSON) to run the contract tests")
	}
	c, err := fromEnv()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Load compiles the OpenAPI description in a file, for discordtest's routes only.
func Load(path string) (*Contract, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read Discord's OpenAPI description: %w", err)
	}
	part := func(messages bool) func() (validator.Validator, error) {
		return sync.OnceValues(func() (validator.Validator, error) { return compile(raw, messages) })
	}
	known, err := readFields(raw)
	if err != nil {
		return nil, err
	}
	c := &Contract{plain: part(false), messages: part(true), fields: known}
	if _, err := c.plain(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

func compile(raw []byte, messages bool) (validator.Validator, error) {
	pruned, err := prune(raw, messages)
	if err != nil {
		return nil, fmt.Errorf("read Discord's OpenAPI description: %w", err)
	}
	doc, err := libopenapi.NewDocument(pruned)
	if err != nil {
		return nil, fmt.Errorf("parse Discord's OpenAPI description: %w", err)
	}
	v, errs := validator.NewValidator(doc, config.WithoutSecurityValidation())
	if len(errs) > 0 {
		return nil, fmt.Errorf("compile Discord's OpenAPI description: %w", errs[0])
	}
	return v, nil
}

// Warm compiles the schemas of messages in advance, which takes half a minute or more under -race.
func (c *Contract) Warm() error {
	_, err := c.messages()
	return err
}

func (c *Contract) validator(r *http.Request) (validator.Validator, error) {
	if carriesMessages.MatchString(r.URL.Path) {
		return c.messages()
	}
	return c.plain()
}

// Request checks a request with its body.
func (c *Contract) Request(r *http.Request, body []byte) []Violation {
	return c.check("request", r, 0, nil, body)
}

// Response checks a response with its body.
func (c *Contract) Response(r *http.Request, status int, header http.Header, body []byte) []Violation {
	return c.check("response", r, status, header, body)
}

// check ignores the violations that known Divergences explain.
func (c *Contract) check(side string, r *http.Request, status int, header http.Header, body []byte) []Violation {
	found := c.validate(side, r, status, header, body)
	if len(found) == 0 {
		return nil
	}
	if other, changed := rewritten(side, body); changed {
		found = c.validate(side, r, status, header, other)
	}
	return excused(found)
}

func (c *Contract) validate(side string, r *http.Request, status int, header http.Header, body []byte) []Violation {
	r = canonical(r, body)
	if r == nil {
		return nil
	}
	part, err := c.validator(r)
	if err != nil {
		return []Violation{{Side: side, Method: r.Method, Path: r.URL.Path, Reason: err.Error()}}
	}
	var errs []*errors.ValidationError
	if side == "request" {
		_, errs = part.ValidateHttpRequestSync(r)
	} else {
		res := &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(bytes.NewReader(body)), Request: r}
		_, errs = part.ValidateHttpResponse(r, res)
	}
	var out []Violation
	found := Violation{
		Side: side, Method: r.Method, Path: token.ReplaceAllString(r.URL.Path, "$1[token]"), Status: status,
		html: strings.HasPrefix(header.Get("Content-Type"), "text/html"),
	}
	for _, path := range c.fields.unknown(r, status, body) {
		v := found
		v.Field, v.Reason = path, "the description has no such field"
		out = append(out, v)
	}
	for _, e := range errs {
		v := found
		v.Reason, v.unrouted = e.Message+": "+e.Reason, e.IsPathMissingError() || e.IsOperationMissingError()
		if len(e.SchemaValidationErrors) == 0 {
			out = append(out, v)
		}
		for _, s := range e.SchemaValidationErrors {
			v.Field, v.Reason = s.FieldPath, s.Reason
			out = append(out, v)
		}
	}
	return out
}

var version = regexp.MustCompile(`^/api(/v\d+)?/`)

// canonical returns the request with the URL of Discord's API v10, or nil for a path outside /api/.
func canonical(r *http.Request, body []byte) *http.Request {
	if !version.MatchString(r.URL.Path) {
		return nil
	}
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host, r.Host = "https", "discord.com", "discord.com"
	r.URL.Path = version.ReplaceAllString(r.URL.Path, "/api/v10/")
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return r
}

// token matches the webhook token in a path. Violations must not show the token.
var token = regexp.MustCompile(`(/webhooks/\d+/)[^/]+`)

// Transport returns a RoundTripper that checks all requests and responses of next.
func (c *Contract) Transport(next http.RoundTripper, report func(Violation)) http.RoundTripper {
	return checked{c, next, report}
}

type checked struct {
	c      *Contract
	next   http.RoundTripper
	report func(Violation)
}

func (t checked) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		_ = r.Body.Close()
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	for _, v := range t.c.Request(r, body) {
		t.report(v)
	}
	res, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	got, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil { // the connection broke within the body, so the body's reader must get this error
		res.Body = io.NopCloser(io.MultiReader(bytes.NewReader(got), broken{err}))
		return res, nil //nolint:nilerr // the reader of the body gets the error
	}
	res.Body = io.NopCloser(bytes.NewReader(got))
	for _, v := range t.c.Response(r, res.StatusCode, res.Header, got) {
		t.report(v)
	}
	return res, nil
}

type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }
