import { describe, expect, it } from "vitest";
import { formatFile } from "./format.ts";

function formatted(text: string): string | undefined {
  return formatFile({ name: "t.tf", text }).text;
}

// The expected texts were made with the reference command.
describe("formatFile", () => {
  it.each([
    ["", ""],
    ["a=1", "a = 1"],
    ["a=1   ", "a = 1   "],
    ["\n\n\na  =  1\n\n\n", "\n\n\na = 1\n\n\n"],
    ["a=b [ c ]\n", "a = b[c]\n"],
    ["a=[ 1,2 ,3 ]\n", "a = [1, 2, 3]\n"],
    ["a={ b=1,c=2 }\n", "a = { b = 1, c = 2 }\n"],
    ["a={}\n", "a = {}\n"],
    ["a=f( b,c... )\n", "a = f(b, c...)\n"],
    ["a=! b&&- c<- 1-1\n", "a = !b && -c < -1 - 1\n"],
    ["a=b?c:d\n", "a = b ? c : d\n"],
    ["a=[for x in [b]:x]\n", "a = [for x in [b] : x]\n"],
    ['a="${ b }x${~c~}"\n', 'a = "${b}x${~c~}"\n'],
    ['a="${ {} }x"\n', 'a = "${ {} }x"\n'],
    ["a=provider :: b :: c()\n", "a = provider::b::c()\n"],
    ["b {\na=1\n  }\n", "b {\n  a = 1\n}\n"],
    ["b {\na=[\n1,\n[2,\n3]]\n}\n", "b {\n  a = [\n    1,\n    [2,\n  3]]\n}\n"],
    ["a=[{\nb=1\n}]\n", "a = [{\n  b = 1\n}]\n"],
    ["aa=1\nb=2\n\nccc=3\n", "aa = 1\nb  = 2\n\nccc = 3\n"],
    ["aa=1\nb=[\n]\nccc=3\n", "aa = 1\nb = [\n]\nccc = 3\n"],
    ["a=1 # x\nbbb=2 // y\n", "a   = 1 # x\nbbb = 2 // y\n"],
    ["  # c\na=1 /* x */\n", "# c\na = 1 /* x */\n"],
    ["b x 'y' {}\n", undefined],
    ["b x y {}\n", 'b "x" "y" {}\n'],
    ['b /* c */ "x" {}\n', 'b "x" {}\n'],
    ['a="${b}"\n', "a = b\n"],
    ['a="${\nb\n}"\n', "a = b\n"],
    ['a="${b ?\nc : d}"\n', "a = (b ?\nc : d)\n"],
    ['a="${b}${c}"\n', 'a = "${b}${c}"\n'],
    ['a=["${b}"]\n', 'a = ["${b}"]\n'],
    ['variable "v" {\n  type = "list"\n}\n', 'variable "v" {\n  type = list(string)\n}\n'],
    ['variable "v" {\n  type = map\n}\n', 'variable "v" {\n  type = map(any)\n}\n'],
    ['variable "v" {\n  type = "string"\n}\n', 'variable "v" {\n  type = string\n}\n'],
    ['other "v" {\n  type = "string"\n}\n', 'other "v" {\n  type = "string"\n}\n'],
    ["a=<<-E\n   x ${ y }\n  E\nb=1\n", "a = <<-E\n   x ${y}\n  E\nb = 1\n"],
    ["a = 1\r\nbb=2 # c\r\n", "a  = 1\r\nbb = 2 # c\r\n"],
    ["\ufeffa=1\n", "a = 1\n"],
  ])("%j", (text, expected) => {
    expect(formatted(text)).toBe(expected);
  });

  it("leaves a file with mistakes alone and says why", () => {
    const { text, diagnostics } = formatFile({ name: "t", text: "a = [1 2]\n" });
    expect(text).toBeUndefined();
    expect(diagnostics?.map(({ code }) => code)).toEqual(["LANG_TUPLE_SEPARATOR"]);
  });

  it("formats an expression of more tokens than a call may have arguments", () => {
    const elements = "1,\n".repeat(100_000);
    expect(formatted(`a=[\n${elements}]\n`)).toBe(`a = [\n${elements.replaceAll("1", "  1")}]\n`);
  });
});
