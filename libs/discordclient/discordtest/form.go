package discordtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// form reads the fields of a JSON object and collects what is wrong with them, as Discord does: all faults at once,
// nested by path.
type form struct {
	fields map[string]json.RawMessage
	path   string // prefix of the paths of errors, with a dot at its end
	errs   *[]fieldError
}

// object reads the body as a JSON object.
func (c *call) object() (*form, error) {
	if kind, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, &apiError{Status: 400, Code: 50035, Message: "Invalid Form Body", Errors: map[string]any{"_errors": []any{
			map[string]any{"code": "CONTENT_TYPE_INVALID", "message": "Expected \"Content-Type\" header to be one of {'application/json'}."}}}}
	}
	return parseForm(c.body)
}

// parseForm reads a JSON object.
func parseForm(body []byte) (*form, error) {
	f := &form{errs: &[]fieldError{}}
	if !json.Valid(body) {
		return nil, errJSON
	}
	if err := json.Unmarshal(body, &f.fields); err != nil || f.fields == nil {
		return nil, invalidForm(fieldError{"_", "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType"})
	}
	return f, nil
}

// sub is the form of an object within this one.
func (f *form) sub(path string, raw json.RawMessage) *form {
	s := &form{path: f.path + path + ".", errs: f.errs}
	if err := json.Unmarshal(raw, &s.fields); err != nil || s.fields == nil {
		f.fail(path, "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType")
	}
	return s
}

// fail notes that a field is wrong.
func (f *form) fail(key, code, message string) {
	*f.errs = append(*f.errs, fieldError{f.path + key, code, message})
}

// err is everything that was found wrong, or nil.
func (f *form) err() error {
	if len(*f.errs) == 0 {
		return nil
	}
	return invalidForm(*f.errs...)
}

// has says whether a field is given, null or not.
func (f *form) has(key string) bool { return f.fields[key] != nil }

// null says whether a field is given as null.
func (f *form) null(key string) bool { return bytes.Equal(f.fields[key], []byte("null")) }

// given says whether a field has a value other than null.
func (f *form) given(key string) bool { return f.has(key) && !f.null(key) }

// require notes a missing field.
func (f *form) require(key string) {
	if !f.given(key) {
		f.fail(key, "BASE_TYPE_REQUIRED", "This field is required")
	}
}

// notNull notes a null that the field does not take.
func (f *form) notNull(key string) {
	if f.null(key) {
		f.fail(key, "BASE_TYPE_REQUIRED", "This field is required")
	}
}

// text reads a string of lo to hi characters into out; null makes it empty. It is untouched when the field is absent.
func (f *form) text(key string, lo, hi int, out *string) {
	if !f.has(key) {
		return
	}
	var s string
	if f.null(key) {
		*out = ""
		return
	}
	if json.Unmarshal(f.fields[key], &s) != nil {
		f.fail(key, "STRING_TYPE_CONVERT", "Could not interpret \""+string(f.fields[key])+"\" as string.")
		return
	}
	s = strings.TrimSpace(s)
	n := utf8.RuneCountInString(s)
	switch {
	case lo > 0 && n == 0:
		f.fail(key, "BASE_TYPE_REQUIRED", "This field is required")
	case lo > 0 && (n < lo || n > hi):
		f.fail(key, "BASE_TYPE_BAD_LENGTH", fmt.Sprintf("Must be between %d and %d in length.", lo, hi))
	case n > hi:
		f.fail(key, "BASE_TYPE_MAX_LENGTH", fmt.Sprintf("Must be %d or fewer in length.", hi))
	default:
		*out = s
	}
}

// label reads a name as text does; of several white spaces in a row one is left.
func (f *form) label(key string, lo, hi int, out *string) {
	var s string
	if json.Unmarshal(f.fields[key], &s) == nil {
		squeezed := *f
		squeezed.fields = map[string]json.RawMessage{key: encode(strings.Join(strings.Fields(s), " "))}
		f = &squeezed
	}
	f.text(key, lo, hi, out)
}

// integer reads a number of lo to hi into out; null makes it def.
func (f *form) integer(key string, lo, hi, def int, out *int) {
	if !f.has(key) {
		return
	}
	if f.null(key) {
		*out = def
		return
	}
	n, err := strconv.Atoi(strings.Trim(string(f.fields[key]), `"`))
	switch {
	case err != nil:
		f.fail(key, "NUMBER_TYPE_COERCE", fmt.Sprintf("Value %s is not int.", f.fields[key]))
	case n < lo:
		f.fail(key, "NUMBER_TYPE_MIN", fmt.Sprintf("int value should be greater than or equal to %d.", lo))
	case n > hi:
		f.fail(key, "NUMBER_TYPE_MAX", fmt.Sprintf("int value should be less than or equal to %d.", hi))
	default:
		*out = n
	}
}

// choice reads a number that must be one of some; null makes it def.
func (f *form) choice(key string, def int, out *int, of ...int) {
	n := *out
	before := len(*f.errs)
	f.integer(key, -1<<31, 1<<31, def, &n)
	if !f.given(key) || slices.Contains(of, n) {
		*out = n
	} else if len(*f.errs) == before {
		list := strings.ReplaceAll(strings.Trim(fmt.Sprint(of), "[]"), " ", ", ")
		f.fail(key, "BASE_TYPE_CHOICES", "Value must be one of {"+list+"}.")
	}
}

// boolean reads true or false; null makes it false.
func (f *form) boolean(key string, out *bool) {
	switch string(f.fields[key]) {
	case "", "null":
		if f.has(key) {
			*out = false
		}
	case "true":
		*out = true
	case "false":
		*out = false
	default:
		f.fail(key, "BOOLEAN_TYPE_CONVERT", "Must be either true or false.")
	}
}

// id reads a snowflake, as a string or a number; null makes it empty.
func (f *form) id(key string, out *string) {
	if !f.has(key) {
		return
	}
	if f.null(key) {
		*out = ""
		return
	}
	s := strings.Trim(string(f.fields[key]), `"`)
	if !isSnowflake(s) {
		f.fail(key, "NUMBER_TYPE_COERCE", fmt.Sprintf("Value %q is not snowflake.", s))
		return
	}
	*out = s
}

// bits reads a set of permissions, as a decimal string or a number; null and absence make it empty.
func (f *form) bits(key string, out *Permissions) {
	*out = 0
	if !f.given(key) {
		return
	}
	n, err := strconv.ParseUint(strings.Trim(string(f.fields[key]), `"`), 10, 64)
	if err != nil {
		f.fail(key, "NUMBER_TYPE_COERCE", fmt.Sprintf("Value %s is not int.", f.fields[key]))
		return
	}
	*out = Permissions(n)
}

// list reads an array of at most hi things; null and absence make it empty.
func (f *form) list(key string, hi int) []json.RawMessage {
	if !f.given(key) {
		return nil
	}
	var out []json.RawMessage
	if json.Unmarshal(f.fields[key], &out) != nil {
		f.fail(key, "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType")
	}
	if len(out) > hi {
		f.fail(key, "BASE_TYPE_MAX_LENGTH", fmt.Sprintf("Must be %d or fewer in length.", hi))
	}
	return out
}
