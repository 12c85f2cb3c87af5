// Command cty-vectors answers questions about values with the reference value library, one JSON object per line in
// and one per line out, in the same order. The tests of the cty package ask it about random values and compare.
//
// A request has "op" and its operands; an answer has "ok" with the result, or "error" with the reason. The notation of
// values in requests and answers is described in README.md beside this file.
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/ctystrings"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	"github.com/zclconf/go-cty/cty/msgpack"
)

type request struct {
	Op     string            `json:"op"`
	A      json.RawMessage   `json:"a"`
	B      json.RawMessage   `json:"b"`
	Values []json.RawMessage `json:"values"`
	Type   json.RawMessage   `json:"type"`
	Types  []json.RawMessage `json:"types"`
	Unsafe bool              `json:"unsafe"`
	Text   string            `json:"text"`
	Hex    string            `json:"hex"`
}

type answer struct {
	OK    any    `json:"ok,omitempty"`
	Error string `json:"error,omitempty"`
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 0, 1<<20), 1<<28)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for in.Scan() {
		if err := encoder.Encode(respond(in.Bytes())); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		// A caller that waits for this answer must get it.
		if err := out.Flush(); err != nil {
			os.Exit(1)
		}
	}
	if err := in.Err(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// respond never fails: what the library rejects or panics about is an answer too.
func respond(line []byte) (result answer) {
	defer func() {
		if r := recover(); r != nil {
			result = answer{Error: fmt.Sprint("panic: ", r)}
		}
	}()
	var req request
	if err := json.Unmarshal(line, &req); err != nil {
		return answer{Error: "bad request: " + err.Error()}
	}
	ok, err := perform(&req)
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{OK: ok}
}

func perform(req *request) (any, error) {
	switch req.Op {
	case "describe":
		return describe(build(req.A))
	case "convert":
		value, err := convert.Convert(build(req.A), buildType(req.Type))
		if err != nil {
			return nil, err
		}
		return dump(value), nil
	case "unify":
		return unify(req)
	case "equal":
		a, b := build(req.A), build(req.B)
		return map[string]any{"equal": dump(a.Equals(b)), "raw": a.RawEquals(b)}, nil
	case "conforms":
		return buildType(req.Types[0]).TestConformance(buildType(req.Types[1])) == nil, nil
	case "decode-msgpack":
		bytes, err := hex.DecodeString(req.Hex)
		if err != nil {
			return nil, err
		}
		value, err := msgpack.Unmarshal(bytes, buildType(req.Type))
		if err != nil {
			return nil, err
		}
		return dump(value), nil
	case "decode-json":
		value, err := ctyjson.Unmarshal([]byte(req.Text), buildType(req.Type))
		if err != nil {
			return nil, err
		}
		return dump(value), nil
	case "implied-json":
		ty, err := ctyjson.ImpliedType([]byte(req.Text))
		if err != nil {
			return nil, err
		}
		value, err := ctyjson.Unmarshal([]byte(req.Text), ty)
		if err != nil {
			return nil, err
		}
		return dump(value), nil
	case "number":
		value, err := cty.ParseNumberVal(req.Text)
		if err != nil {
			return nil, err
		}
		return numberForms(value), nil
	case "prefix":
		return map[string]string{"prefix": ctystrings.SafeKnownPrefix(req.Text)}, nil
	default:
		return operate(req)
	}
}

func operate(req *request) (any, error) {
	a := build(req.A)
	switch req.Op {
	case "negate":
		return dump(a.Negate()), nil
	case "absolute":
		return dump(a.Absolute()), nil
	case "not":
		return dump(a.Not()), nil
	case "length":
		return dump(a.Length()), nil
	case "number-forms":
		return numberForms(a), nil
	}
	b := build(req.B)
	operators := map[string]func(cty.Value) cty.Value{
		"add": a.Add, "subtract": a.Subtract, "multiply": a.Multiply, "divide": a.Divide, "modulo": a.Modulo,
		"and": a.And, "or": a.Or,
		"lessThan": a.LessThan, "greaterThan": a.GreaterThan,
		"lessThanOrEqual": a.LessThanOrEqualTo, "greaterThanOrEqual": a.GreaterThanOrEqualTo,
		"index": a.Index, "hasIndex": a.HasIndex, "hasElement": a.HasElement,
	}
	operator, known := operators[req.Op]
	if !known {
		return nil, fmt.Errorf("unknown op %q", req.Op)
	}
	return dump(operator(b)), nil
}

// describe gives everything there is to say about one value: how it looks, and how it is encoded with its own type and
// with an open one.
func describe(value cty.Value) (any, error) {
	result := map[string]any{"value": dump(value)}
	for name, ty := range map[string]cty.Type{"": value.Type(), "Dynamic": cty.DynamicPseudoType} {
		if bytes, err := msgpack.Marshal(value, ty); err == nil {
			result["msgpack"+name] = hex.EncodeToString(bytes)
		}
		if bytes, err := ctyjson.Marshal(value, ty); err == nil {
			result["json"+name] = string(bytes)
		}
	}
	return result, nil
}

func unify(req *request) (any, error) {
	types := make([]cty.Type, 0, len(req.Types)+len(req.Values))
	for _, raw := range req.Types {
		types = append(types, buildType(raw))
	}
	values := make([]cty.Value, 0, len(req.Values))
	for _, raw := range req.Values {
		value := build(raw)
		values = append(values, value)
		types = append(types, value.Type())
	}
	find := convert.Unify
	if req.Unsafe {
		find = convert.UnifyUnsafe
	}
	ty, conversions := find(types)
	if ty == cty.NilType {
		return nil, fmt.Errorf("no common type")
	}
	converted := make([]any, 0, len(values))
	for i, value := range values {
		result := value
		if conversions[i] != nil {
			var err error
			if result, err = conversions[i](value); err != nil {
				converted = append(converted, nil)
				continue
			}
		}
		converted = append(converted, dump(result))
	}
	return map[string]any{"type": ty, "values": converted}, nil
}

func numberForms(value cty.Value) any {
	number := value.AsBigFloat()
	double, accuracy := number.Float64()
	return map[string]any{
		"value":    dump(value),
		"g10":      number.String(),
		"e":        number.Text('e', -1),
		"g":        number.Text('g', -1),
		"f3":       number.Text('f', 3),
		"e5":       number.Text('e', 5),
		"g4":       number.Text('g', 4),
		"double":   doubleBits(double),
		"exact":    accuracy == 0,
		"isInt":    number.IsInt(),
		"minBits":  number.MinPrec(),
		"negative": number.Signbit(),
	}
}
