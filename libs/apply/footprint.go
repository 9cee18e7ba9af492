// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"reflect"
	"time"
)

// footprint estimates an object's bytes in memory, which can be a hundred times its JSON.
func footprint(o any) int {
	v := reflect.ValueOf(o).Elem()
	return int(v.Type().Size()) + referenced(v)
}

// A Go map has this header and 2^n slots (at least 8), at most 7/8 in use (internal/runtime/maps).
const mapHeader = 64

// referenced returns the bytes that v refers to, without v itself. API objects have no cycles.
func referenced(v reflect.Value) int {
	switch v.Kind() {
	case reflect.String:
		return v.Len()
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return 0
		}
		return int(v.Elem().Type().Size()) + referenced(v.Elem())
	case reflect.Struct:
		return referencedByStruct(v)
	case reflect.Slice:
		return referencedBySlice(v)
	case reflect.Map:
		return referencedByMap(v)
	default: // numbers
		return 0
	}
}

func referencedByStruct(v reflect.Value) (bytes int) {
	if v.Type() == reflect.TypeFor[time.Time]() { // all times share one Location
		return 0
	}
	for i := range v.NumField() {
		bytes += referenced(v.Field(i))
	}
	return bytes
}

func referencedBySlice(v reflect.Value) int {
	bytes := v.Cap() * int(v.Type().Elem().Size())
	if v.Type().Elem().Kind() != reflect.Uint8 {
		for i := range v.Len() {
			bytes += referenced(v.Index(i))
		}
	}
	return bytes
}

func referencedByMap(v reflect.Value) int {
	if v.IsNil() {
		return 0
	}
	slots := 8
	for v.Len() > slots*7/8 {
		slots *= 2
	}
	bytes := mapHeader + slots*int(v.Type().Key().Size()+v.Type().Elem().Size())
	for entry := v.MapRange(); entry.Next(); {
		bytes += referenced(entry.Key()) + referenced(entry.Value())
	}
	return bytes
}
