// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"reflect"
	"time"
)

// footprint is how many bytes an object takes in memory, as far as its types say. It is not the length
// of its JSON: an empty item of a list is two bytes there, and may be hundreds in memory.
func footprint(o any) int {
	v := reflect.ValueOf(o).Elem()
	return int(v.Type().Size()) + beyond(v)
}

// mapHeader is what a map takes beside its slots, of which it has 8 or a power of two above that, and at
// most seven of eight in use (internal/runtime/maps).
const mapHeader = 64

// beyond is what a value refers to, itself not included. Objects of an API have no cycles.
func beyond(v reflect.Value) int {
	switch v.Kind() {
	case reflect.String:
		return v.Len()
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return 0
		}
		return int(v.Elem().Type().Size()) + beyond(v.Elem())
	case reflect.Struct:
		return beyondStruct(v)
	case reflect.Slice:
		return beyondSlice(v)
	case reflect.Map:
		return beyondMap(v)
	default: // numbers
		return 0
	}
}

func beyondStruct(v reflect.Value) (bytes int) {
	if v.Type() == reflect.TypeFor[time.Time]() { // its location is shared
		return 0
	}
	for i := range v.NumField() {
		bytes += beyond(v.Field(i))
	}
	return bytes
}

func beyondSlice(v reflect.Value) int {
	bytes := v.Cap() * int(v.Type().Elem().Size())
	if v.Type().Elem().Kind() != reflect.Uint8 {
		for i := range v.Len() {
			bytes += beyond(v.Index(i))
		}
	}
	return bytes
}

func beyondMap(v reflect.Value) int {
	if v.IsNil() {
		return 0
	}
	slots := 8
	for v.Len() > slots*7/8 {
		slots *= 2
	}
	bytes := mapHeader + slots*int(v.Type().Key().Size()+v.Type().Elem().Size())
	for entry := v.MapRange(); entry.Next(); {
		bytes += beyond(entry.Key()) + beyond(entry.Value())
	}
	return bytes
}
