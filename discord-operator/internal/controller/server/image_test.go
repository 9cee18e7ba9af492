// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"image"
	"image/jpeg"
	"strings"
	"testing"

	"jutsu.com/operators/test/discordtest"
)

func TestInspect(t *testing.T) {
	t.Parallel()
	var jpg bytes.Buffer
	if err := jpeg.Encode(&jpg, image.NewGray(image.Rect(0, 0, 2, 2)), nil); err != nil {
		t.Fatal(err)
	}
	large := discordtest.PNG(1024, 1024, 0)
	for name, c := range map[string]struct {
		data     []byte
		format   string
		animated bool
		why      string
	}{
		"PNG":                     {data: discordtest.PNG(2, 2, 0), format: "png"},
		"JPEG":                    {data: jpg.Bytes(), format: "jpeg"},
		"GIF of one frame":        {data: discordtest.GIF(1), format: "gif"},
		"GIF of two frames":       {data: discordtest.GIF(2), format: "gif", animated: true},
		"a truncated GIF":         {data: discordtest.GIF(2)[:60], why: "is an image that cannot be read"},
		"the largest PNG":         {data: large, format: "png"},
		"too wide":                {data: discordtest.PNG(1025, 1, 0), why: "1025 by 1 pixels. Scale it down to at most 1024 by 1024"},
		"too high":                {data: discordtest.PNG(1, 1025, 0), why: "1 by 1025 pixels"},
		"a truncated PNG":         {data: large[:len(large)-40], why: "is an image that cannot be read"},
		"text":                    {data: []byte("<svg/>"), why: "is no PNG, JPEG or GIF"},
		"nothing":                 {why: "is no PNG, JPEG or GIF"},
		"only the start of a PNG": {data: large[:8], why: "is an image that cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			format, animated, why := inspect(c.data)
			if format != c.format || animated != c.animated || !strings.Contains(why, c.why) || c.why == "" && why != "" {
				t.Errorf("got %q, animated %t: %q", format, animated, why)
			}
		})
	}
}

// No image file may exhaust time or memory, or cause a panic.
func FuzzInspect(f *testing.F) {
	for _, image := range [][]byte{discordtest.PNG(2, 2, 0), discordtest.GIF(1), discordtest.GIF(3)} {
		f.Add(image)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if format, animated, why := inspect(data); (format == "") != (why != "") || animated && format != "gif" {
			t.Errorf("%q, animated %t: %q", format, animated, why)
		}
	})
}
