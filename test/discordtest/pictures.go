// SPDX-License-Identifier: Apache-2.0

package discordtest

import (
	"bytes"
	"image"
	"image/color"
	"image/gif"
	"image/png"
)

// PNG returns an image in one shade of grey.
func PNG(width, height int, shade uint8) []byte {
	picture := image.NewGray(image.Rect(0, 0, width, height))
	for i := range picture.Pix {
		picture.Pix[i] = shade
	}
	var out bytes.Buffer
	_ = png.Encode(&out, picture) // a write to a buffer never fails
	return out.Bytes()
}

// GIF returns an image with a number of frames.
func GIF(frames int) []byte {
	var all gif.GIF
	for i := range frames {
		frame := image.NewPaletted(image.Rect(0, 0, 2, 2), color.Palette{color.Black, color.White})
		frame.SetColorIndex(i%2, 0, 1)
		all.Image, all.Delay = append(all.Image, frame), append(all.Delay, 10)
	}
	var out bytes.Buffer
	_ = gif.EncodeAll(&out, &all)
	return out.Bytes()
}
