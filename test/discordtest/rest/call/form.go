// SPDX-License-Identifier: Apache-2.0

package call

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"image"
	"image/gif"
	_ "image/jpeg" // Discord accepts JPEG and PNG besides GIF
	_ "image/png"
	"mime"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"jutsu.com/operators/test/discordtest/internal/model"
)

// Form reads a JSON object. It collects all errors, which Discord returns in one response.
type Form struct {
	fields map[string]json.RawMessage
	path   string // prefix of error paths, with a dot at its end
	errs   *[]fieldError
}

// Object reads a body with Content-Type application/json as a JSON object.
func (c *Call) Object() (*Form, error) {
	kind, _, err := mime.ParseMediaType(c.Request.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return nil, &Error{Status: 400, Code: 50035, Message: "Invalid Form Body", Errors: map[string]any{"_errors": []any{
			map[string]any{"code": "CONTENT_TYPE_INVALID",
				"message": "Expected \"Content-Type\" header to be one of {'application/json'}."},
		}}}
	}
	return ParseForm(c.Body)
}

// NewForm returns a form without fields, which collects the errors of forms from [Form.Sub].
func NewForm() *Form { return &Form{errs: &[]fieldError{}} }

// ParseForm reads a JSON object.
func ParseForm(body []byte) (*Form, error) {
	f := NewForm()
	if !json.Valid(body) {
		return nil, ErrJSON
	}
	if err := json.Unmarshal(body, &f.fields); err != nil || f.fields == nil {
		return nil, Invalid("_", "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType")
	}
	return f, nil
}

// Sub returns a form for raw, the JSON object at path. Errors of the new form are added to f.
func (f *Form) Sub(path string, raw json.RawMessage) *Form {
	s := &Form{path: f.path + path + ".", errs: f.errs}
	if err := json.Unmarshal(raw, &s.fields); err != nil || s.fields == nil {
		f.Fail(path, "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType")
	}
	return s
}

// IsObject reports whether the value that the form reads is a JSON object.
func (f *Form) IsObject() bool { return f.fields != nil }

// Fail records an error of the field key. code is Discord's string code.
func (f *Form) Fail(key, code, message string) {
	*f.errs = append(*f.errs, fieldError{f.path + key, code, message})
}

// Err returns error 50035 with all recorded errors, or nil if there are none.
func (f *Form) Err() error {
	if len(*f.errs) == 0 {
		return nil
	}
	return invalidForm(*f.errs...)
}

// Has reports whether a field is present, even if it is null.
func (f *Form) Has(key string) bool { return f.fields[key] != nil }

// Raw returns the JSON of a field, or nil if the field is absent.
func (f *Form) Raw(key string) json.RawMessage { return f.fields[key] }

// Null reports whether a field is present and null.
func (f *Form) Null(key string) bool { return bytes.Equal(f.fields[key], []byte("null")) }

// Given reports whether a field has a value other than null.
func (f *Form) Given(key string) bool { return f.Has(key) && !f.Null(key) }

// Require records an error if a field is absent or null.
func (f *Form) Require(key string) {
	if !f.Given(key) {
		f.Fail(key, "BASE_TYPE_REQUIRED", "This field is required")
	}
}

// NotNull records an error if a field is null. An absent field is no error.
func (f *Form) NotNull(key string) {
	if f.Null(key) {
		f.Fail(key, "BASE_TYPE_REQUIRED", "This field is required")
	}
}

// Text stores a trimmed string of lo to hi characters in *out, or "" for null.
func (f *Form) Text(key string, lo, hi int, out *string) {
	if !f.Has(key) {
		return
	}
	var s string
	if f.Null(key) {
		*out = ""
		return
	}
	if json.Unmarshal(f.fields[key], &s) != nil {
		f.Fail(key, "STRING_TYPE_CONVERT", "Could not interpret \""+string(f.fields[key])+"\" as string.")
		return
	}
	s = strings.TrimSpace(s)
	n := utf8.RuneCountInString(s)
	switch {
	case lo > 0 && n == 0:
		f.Fail(key, "BASE_TYPE_REQUIRED", "This field is required")
	case lo > 0 && (n < lo || n > hi):
		f.Fail(key, "BASE_TYPE_BAD_LENGTH", fmt.Sprintf("Must be between %d and %d in length.", lo, hi))
	case n > hi:
		f.Fail(key, "BASE_TYPE_MAX_LENGTH", fmt.Sprintf("Must be %d or fewer in length.", hi))
	default:
		*out = s
	}
}

// Label is Text, but first replaces each run of white space by one space.
func (f *Form) Label(key string, lo, hi int, out *string) {
	var s string
	if json.Unmarshal(f.fields[key], &s) == nil {
		squeezed := *f
		squeezed.fields = map[string]json.RawMessage{key: model.JSON(strings.Join(strings.Fields(s), " "))}
		f = &squeezed
	}
	f.Text(key, lo, hi, out)
}

// Integer reads a number or a string. It stores an integer from lo to hi, or def for null, in *out.
func (f *Form) Integer(key string, lo, hi, def int, out *int) {
	if !f.Has(key) {
		return
	}
	if f.Null(key) {
		*out = def
		return
	}
	n, err := strconv.Atoi(strings.Trim(string(f.fields[key]), `"`))
	switch {
	case err != nil:
		f.Fail(key, "NUMBER_TYPE_COERCE", fmt.Sprintf("Value %s is not int.", f.fields[key]))
	case n < lo:
		f.Fail(key, "NUMBER_TYPE_MIN", fmt.Sprintf("int value should be greater than or equal to %d.", lo))
	case n > hi:
		f.Fail(key, "NUMBER_TYPE_MAX", fmt.Sprintf("int value should be less than or equal to %d.", hi))
	default:
		*out = n
	}
}

// Choice is [Form.Integer], but allows only the numbers in the list `of`.
func (f *Form) Choice(key string, def int, out *int, of ...int) {
	n := *out
	before := len(*f.errs)
	f.Integer(key, -1<<31, 1<<31, def, &n)
	if !f.Given(key) || slices.Contains(of, n) {
		*out = n
	} else if len(*f.errs) == before {
		list := strings.ReplaceAll(strings.Trim(fmt.Sprint(of), "[]"), " ", ", ")
		f.Fail(key, "BASE_TYPE_CHOICES", "Value must be one of {"+list+"}.")
	}
}

// Boolean stores true or false in *out, and false for null.
func (f *Form) Boolean(key string, out *bool) {
	switch string(f.fields[key]) {
	case "", "null":
		if f.Has(key) {
			*out = false
		}
	case "true":
		*out = true
	case "false":
		*out = false
	default:
		f.Fail(key, "BOOLEAN_TYPE_CONVERT", "Must be either true or false.")
	}
}

// ID reads a string or a number. It stores a snowflake, or "" for null, in *out.
func (f *Form) ID(key string, out *string) {
	if !f.Has(key) {
		return
	}
	if f.Null(key) {
		*out = ""
		return
	}
	s := strings.Trim(string(f.fields[key]), `"`)
	if !model.IsSnowflake(s) {
		f.Fail(key, "NUMBER_TYPE_COERCE", fmt.Sprintf("Value %q is not snowflake.", s))
		return
	}
	*out = s
}

// Bits reads a string or a number. It stores permission bits, or 0 for null or no field, in *out.
func (f *Form) Bits(key string, out *model.Permissions) {
	*out = 0
	if !f.Given(key) {
		return
	}
	n, err := strconv.ParseUint(strings.Trim(string(f.fields[key]), `"`), 10, 64)
	if err != nil {
		f.Fail(key, "NUMBER_TYPE_COERCE", fmt.Sprintf("Value %s is not int.", f.fields[key]))
		return
	}
	*out = model.Permissions(n)
}

// List returns the elements of an array, or nil for null or no field. The maximum is hi elements.
func (f *Form) List(key string, hi int) []json.RawMessage {
	if !f.Given(key) {
		return nil
	}
	var out []json.RawMessage
	if json.Unmarshal(f.fields[key], &out) != nil {
		f.Fail(key, "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType")
	}
	if len(out) > hi {
		f.Fail(key, "BASE_TYPE_MAX_LENGTH", fmt.Sprintf("Must be %d or fewer in length.", hi))
	}
	return out
}

var dataURI = regexp.MustCompile(`^data:image/(png|jpeg|gif);base64,(.+)$`)

// maxImage is the maximum size of an image in bytes, as reported by users.
const maxImage = 10240 << 10

// Image reads a data URI. It stores the hash of the image, or "" for null, in *to. The hash of an
// animated image begins with "a_". maxSide limits width and height; 0 means no limit.
func (f *Form) Image(key string, to *string, maxSide int, animated bool) {
	if !f.Given(key) {
		if f.Null(key) {
			*to = ""
		}
		return
	}
	var uri string
	_ = json.Unmarshal(f.fields[key], &uri)
	m := dataURI.FindStringSubmatch(uri)
	if m == nil {
		f.Fail(key, "IMAGE_INVALID", "Invalid image data")
		return
	}
	data, err := base64.StdEncoding.DecodeString(m[2])
	if err != nil {
		f.Fail(key, "BINARY_TYPE_INVALID", "Invalid base64 data")
		return
	}
	sum := sha256.Sum256(data)
	hash := hex.EncodeToString(sum[:16])
	config, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err == nil {
		_, _, err = image.Decode(bytes.NewReader(data))
	}
	frames := 1
	if all, broken := gif.DecodeAll(bytes.NewReader(data)); broken == nil {
		frames = len(all.Image)
	}
	switch {
	case len(data) > maxImage:
		f.Fail(key, "BINARY_TYPE_MAX_SIZE", "File cannot be larger than 10240.0 kb.")
	case err != nil, format != m[1]:
		f.Fail(key, "IMAGE_INVALID", "Unsupported image type given")
	case maxSide > 0 && max(config.Width, config.Height) > maxSide:
		f.Fail(key, "IMAGE_INVALID", "Image is too large")
	case frames > 1 && !animated:
		f.Fail(key, "IMAGE_INVALID", "Animated images are not available here")
	case frames > 1:
		*to = "a_" + hash
	default:
		*to = hash
	}
}
