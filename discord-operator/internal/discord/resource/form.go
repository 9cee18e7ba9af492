// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Form converts between a spec's member of the type M and Discord's value of the type T.
type Form[M, T any] struct {
	Value  func(M) *T         // nil if the spec does not manage the member
	Member func(T) (M, error) // an error says why the spec cannot have the value
	Text   Text               // nil selects the format for the type T
}

// Same is the form of a member that needs no conversion.
func Same[T any]() Form[*T, T] {
	return Form[*T, T]{
		Value: func(member *T) *T { return member }, Member: func(value T) (*T, error) { return &value, nil },
	}
}

// Word is the form of a text. An empty text means that the spec does not manage the member.
func Word() Form[string, string] {
	return Form[string, string]{Value: notEmpty, Member: func(value string) (string, error) { return value, nil }}
}

func notEmpty(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// Count is the form of a number.
func Count() Form[*int32, int] {
	return Form[*int32, int]{
		Value: func(member *int32) *int {
			if member == nil {
				return nil
			}
			return new(int(*member))
		},
		Member: func(value int) (*int32, error) {
			if int(int32(value)) != value { //nolint:gosec // G115: this is the check
				return nil, fmt.Errorf("%d is too large", value)
			}
			return new(int32(value)), nil //nolint:gosec // G115: checked
		},
	}
}

// Seconds is the form of a duration, in seconds on Discord.
func Seconds() Form[*metav1.Duration, int] {
	return Form[*metav1.Duration, int]{
		Value: func(member *metav1.Duration) *int {
			if member == nil {
				return nil
			}
			return new(int(member.Seconds()))
		},
		Member: func(value int) (*metav1.Duration, error) {
			return &metav1.Duration{Duration: time.Duration(value) * time.Second}, nil
		},
		Text: secondsText,
	}
}

// Form returns the form of a member that has the words of n as values.
func (n Enum[T]) Form() Form[T, int] {
	return Form[T, int]{Value: n.Number, Member: n.Of, Text: n.Word}
}

// Of returns the word of a number, or an error if the number has no word.
func (n Enum[T]) Of(number int) (T, error) {
	word, known := n[number]
	if !known {
		return "", fmt.Errorf("%d is unknown to this version of discord-operator", number)
	}
	return word, nil
}
