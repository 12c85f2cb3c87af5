package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"sort"
	"strconv"

	"github.com/zclconf/go-cty/cty"
)

// notation is a value in a request: one of the members says which kind it is.
type notation struct {
	Null    json.RawMessage   `json:"null"`    // type
	Unknown json.RawMessage   `json:"unknown"` // type
	Refine  *refinements      `json:"refine"`
	String  *string           `json:"s"`
	Bool    *bool             `json:"b"`
	Decimal *string           `json:"n"` // read as decimal text
	Int     *string           `json:"i"` // integer of any size
	Double  *string           `json:"d"` // bits of a double, 16 hexadecimal digits
	List    []json.RawMessage `json:"list"`
	Set     []json.RawMessage `json:"set"`
	Tuple   []json.RawMessage `json:"tuple"`
	Map     []entry           `json:"map"`
	Object  []entry           `json:"object"`
	Of      json.RawMessage   `json:"of"` // element type of a list, set or map
	Marks   []string          `json:"marks"`
	Value   json.RawMessage   `json:"v"` // what the marks are on
}

type entry struct {
	Key   string          `json:"k"`
	Value json.RawMessage `json:"v"`
}

type refinements struct {
	NotNull bool   `json:"notNull,omitempty"`
	Prefix  string `json:"prefix,omitempty"`
	Min     *bound `json:"min,omitempty"`
	Max     *bound `json:"max,omitempty"`
	MinLen  *int   `json:"minLength,omitempty"`
	MaxLen  *int   `json:"maxLength,omitempty"`
}

type bound struct {
	Value     json.RawMessage `json:"value"`
	Inclusive bool            `json:"inclusive"`
}

func buildType(raw json.RawMessage) cty.Type {
	var ty cty.Type
	if err := json.Unmarshal(raw, &ty); err != nil {
		panic(err)
	}
	return ty
}

func build(raw json.RawMessage) cty.Value {
	var n notation
	if err := json.Unmarshal(raw, &n); err != nil {
		panic(err)
	}
	switch {
	case n.Marks != nil:
		value := build(n.Value)
		for _, mark := range n.Marks {
			value = value.Mark(mark)
		}
		return value
	case n.Null != nil:
		return cty.NullVal(buildType(n.Null))
	case n.Unknown != nil:
		return refine(cty.UnknownVal(buildType(n.Unknown)), n.Refine)
	case n.String != nil:
		return cty.StringVal(*n.String)
	case n.Bool != nil:
		return cty.BoolVal(*n.Bool)
	case n.Decimal != nil, n.Int != nil, n.Double != nil:
		return buildNumber(&n)
	case n.Tuple != nil:
		return cty.TupleVal(buildAll(n.Tuple))
	case n.Object != nil:
		return cty.ObjectVal(buildEntries(n.Object))
	case n.Of != nil:
		return buildCollection(&n)
	}
	panic(fmt.Sprintf("not a value: %s", raw))
}

func buildNumber(n *notation) cty.Value {
	switch {
	case n.Decimal != nil:
		return cty.MustParseNumberVal(*n.Decimal)
	case n.Int != nil:
		integer, ok := new(big.Int).SetString(*n.Int, 10)
		if !ok {
			panic("not an integer: " + *n.Int)
		}
		return cty.NumberVal(new(big.Float).SetInt(integer))
	default:
		bits, err := strconv.ParseUint(*n.Double, 16, 64)
		if err != nil {
			panic(err)
		}
		return cty.NumberFloatVal(math.Float64frombits(bits))
	}
}

func buildCollection(n *notation) cty.Value {
	element := buildType(n.Of)
	switch {
	case n.List != nil:
		if len(n.List) == 0 {
			return cty.ListValEmpty(element)
		}
		return cty.ListVal(buildAll(n.List))
	case n.Set != nil:
		if len(n.Set) == 0 {
			return cty.SetValEmpty(element)
		}
		return cty.SetVal(buildAll(n.Set))
	default:
		if len(n.Map) == 0 {
			return cty.MapValEmpty(element)
		}
		return cty.MapVal(buildEntries(n.Map))
	}
}

func buildAll(raws []json.RawMessage) []cty.Value {
	values := make([]cty.Value, len(raws))
	for i, raw := range raws {
		values[i] = build(raw)
	}
	return values
}

func buildEntries(entries []entry) map[string]cty.Value {
	values := make(map[string]cty.Value, len(entries))
	for _, e := range entries {
		values[e.Key] = build(e.Value)
	}
	return values
}

func refine(value cty.Value, r *refinements) cty.Value {
	if r == nil {
		return value
	}
	b := value.Refine()
	if r.NotNull {
		b = b.NotNull()
	}
	if r.Prefix != "" {
		b = b.StringPrefixFull(r.Prefix)
	}
	if r.Min != nil {
		b = b.NumberRangeLowerBound(build(r.Min.Value), r.Min.Inclusive)
	}
	if r.Max != nil {
		b = b.NumberRangeUpperBound(build(r.Max.Value), r.Max.Inclusive)
	}
	if r.MinLen != nil {
		b = b.CollectionLengthLowerBound(*r.MinLen)
	}
	if r.MaxLen != nil {
		b = b.CollectionLengthUpperBound(*r.MaxLen)
	}
	return b.NewValue()
}

func doubleBits(double float64) string {
	return fmt.Sprintf("%016x", math.Float64bits(double))
}

// dump is a value in an answer. Elements are in the order of iteration; numbers come with their precision.
func dump(value cty.Value) any {
	if value.IsMarked() {
		plain, marks := value.Unmark()
		names := make([]string, 0, len(marks))
		for mark := range marks {
			names = append(names, fmt.Sprint(mark))
		}
		sort.Strings(names)
		return map[string]any{"marks": names, "v": dump(plain)}
	}
	ty := value.Type()
	switch {
	case value.IsNull():
		return map[string]any{"null": ty}
	case !value.IsKnown():
		result := map[string]any{"unknown": ty}
		if r := dumpRange(value); len(r) != 0 {
			result["refine"] = r
		}
		return result
	case ty == cty.String:
		return map[string]any{"s": value.AsString()}
	case ty == cty.Bool:
		return map[string]any{"b": value.True()}
	case ty == cty.Number:
		number := value.AsBigFloat()
		return map[string]any{"n": number.Text('f', -1), "bits": number.Prec()}
	case ty.IsListType():
		return map[string]any{"list": dumpAll(value), "of": ty.ElementType()}
	case ty.IsSetType():
		return map[string]any{"set": dumpAll(value), "of": ty.ElementType()}
	case ty.IsTupleType():
		return map[string]any{"tuple": dumpAll(value)}
	case ty.IsMapType():
		return map[string]any{"map": dumpEntries(value), "of": ty.ElementType()}
	default:
		return map[string]any{"object": dumpEntries(value)}
	}
}

func dumpAll(value cty.Value) []any {
	result := []any{}
	for it := value.ElementIterator(); it.Next(); {
		_, element := it.Element()
		result = append(result, dump(element))
	}
	return result
}

func dumpEntries(value cty.Value) []any {
	result := []any{}
	for it := value.ElementIterator(); it.Next(); {
		key, element := it.Element()
		result = append(result, map[string]any{"k": key.AsString(), "v": dump(element)})
	}
	return result
}

func dumpRange(value cty.Value) map[string]any {
	result := map[string]any{}
	ty := value.Type()
	r := value.Range()
	if ty == cty.DynamicPseudoType {
		return result
	}
	if r.DefinitelyNotNull() {
		result["notNull"] = true
	}
	switch {
	case ty == cty.String:
		if prefix := r.StringPrefix(); prefix != "" {
			result["prefix"] = prefix
		}
	case ty == cty.Number:
		if min, inclusive := r.NumberLowerBound(); min.IsKnown() && !min.AsBigFloat().IsInf() {
			result["min"] = map[string]any{"value": dump(min), "inclusive": inclusive}
		}
		if max, inclusive := r.NumberUpperBound(); max.IsKnown() && !max.AsBigFloat().IsInf() {
			result["max"] = map[string]any{"value": dump(max), "inclusive": inclusive}
		}
	case ty.IsCollectionType():
		if min := r.LengthLowerBound(); min != 0 {
			result["minLength"] = min
		}
		if max := r.LengthUpperBound(); max != math.MaxInt {
			result["maxLength"] = max
		}
	}
	return result
}
