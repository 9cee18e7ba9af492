// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/gif"
	_ "image/jpeg" // Discord accepts JPEG, PNG and GIF
	_ "image/png"
	"io"
)

// maxSide is the largest width and height of an icon in pixels. Source:
// https://docs.discord.com/developers/resources/guild#modify-guild.
const maxSide = 1024

func inspect(data []byte) (format string, animated bool, why string) {
	config, format, err := image.DecodeConfig(bytes.NewReader(data))
	if errors.Is(err, image.ErrFormat) {
		return "", false, "is no PNG, JPEG or GIF. Replace it with an image of one of these types"
	}
	if err != nil {
		return "", false, broken(err)
	}
	if max(config.Width, config.Height) > maxSide { // before Decode allocates the memory
		return "", false, fmt.Sprintf("is an image of %d by %d pixels. Scale it down to at most %d by %[3]d",
			config.Width, config.Height, maxSide)
	}
	if _, _, err := image.Decode(bytes.NewReader(data)); err != nil {
		return "", false, broken(err)
	}
	return format, format == "gif" && severalFrames(data), ""
}

func broken(err error) string {
	return fmt.Sprintf("is an image that cannot be read (%v). Replace it with another image", err)
}

// severalFrames decodes only the first frame of a GIF, because a small file may have thousands of
// frames.
func severalFrames(data []byte) bool {
	r := bytes.NewReader(data)
	if _, err := gif.Decode(r); err != nil { // reads up to the end of the first frame
		return false
	}
	for {
		switch block, _ := r.ReadByte(); block {
		case ',': // an image
			return true
		case '!': // an extension: a label, then blocks of up to 255 bytes, then an empty block
			_, _ = r.ReadByte()
			for n, err := r.ReadByte(); n > 0 && err == nil; n, err = r.ReadByte() {
				_, _ = r.Seek(int64(n), io.SeekCurrent)
			}
		default:
			return false
		}
	}
}
