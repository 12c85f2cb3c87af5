import { readFileSync } from "node:fs";
import { join } from "node:path";
import { decodeJsonImplied, Type, Value } from "@stackwright/cty";
import { describe, expect, it } from "vitest";
import { consoleScope, evaluateLine } from "../console/console.ts";
import { evaluate } from "../eval/evaluate.ts";
import { createScope } from "../eval/scope.ts";
import { hasErrors } from "../syntax/diagnostic.ts";
import { parseExpression } from "../syntax/parse.ts";
import { functionReference } from "./documentation.ts";
import { STANDARD_FUNCTIONS } from "./library.ts";

const { functions } = consoleScope();

function run(text: string, variables: Record<string, Value> = {}): Value {
  const parsed = parseExpression({ name: "t", text });
  const { value, diagnostics } = evaluate(parsed.value, createScope({ functions, variables }));
  expect(diagnostics).toEqual([]);
  return value;
}

describe("the function library", () => {
  it("has every function once", () => {
    const names = STANDARD_FUNCTIONS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });

  it("has the common functions of the references and those of OpenTofu", () => {
    const expected = `abs abspath alltrue anytrue assumeequal assumelistlength assumelistlengthmax
      assumelistlengthmin assumemaplength assumemaplengthmax assumemaplengthmin assumenotnull
      assumesetlength assumesetlengthmax assumesetlengthmin assumestringprefix base64decode
      base64encode base64gunzip base64gzip base64sha256 base64sha512 basename bcrypt can ceil chomp
      chunklist cidrcontains cidrhost cidrnetmask cidrsubnet cidrsubnets coalesce coalescelist
      compact concat contains convert csvdecode dirname distinct element endswith ephemeralasnull
      file filebase64 filebase64sha256 filebase64sha512 fileexists filemd5 fileset filesha1
      filesha256 filesha512 flatten floor format formatdate formatlist indent index issensitive join
      jsondecode jsonencode keys length list log lookup lower map matchkeys max md5 merge min
      nonsensitive one parseint pathexpand plantimestamp pow range regex regexall replace reverse
      rsadecrypt sensitive setintersection setproduct setsubtract setunion sha1 sha256 sha512 signum
      slice sort split startswith strcontains strrev substr sum templatefile templatestring
      textdecodebase64 textencodebase64 timeadd timecmp timestamp title tobool tolist tomap tonumber
      toset tostring transpose trim trimprefix trimspace trimsuffix try upper urldecode urlencode
      uuid uuidv5 values yamldecode yamlencode zipmap`.split(/\s+/);
    expect(STANDARD_FUNCTIONS.map(({ name }) => name)).toEqual(expected);
  });

  it("is documented by what it consists of", () => {
    const file = readFileSync(join(import.meta.dirname, "../../FUNCTIONS.md"), "utf8");
    expect(file).toBe(functionReference(STANDARD_FUNCTIONS));
  });
});

describe("merge", () => {
  it.each([
    ["merge(tomap({}), { z = 1 })", "{ z = 1 }"],
    ["merge({ z = 1 }, tomap({}))", "{ z = 1 }"],
    ["merge(tomap({}), tomap({ a = 1 }))", "{ a = 1 }"],
    ["merge(tomap({}), tomap({}))", "tomap({})"],
    ["merge(tomap({}), null)", "tomap({})"],
  ])("knows what comes of %s", (text, expected) => {
    expect(run(text).rawEquals(run(expected))).toBe(true);
  });

  it("waits for a map whose elements may be of any type", () => {
    const open = Value.unknown(Type.map(Type.dynamic));
    expect(run("merge(x, { z = 1 })", { x: open }).isKnown).toBe(false);
  });
});

it("knows that the length of an unknown string is not negative", () => {
  const x = Value.unknown(Type.string);
  expect(run("length(x) > -1", { x }).rawEquals(Value.true)).toBe(true);
  expect(run("length(x) > 0", { x }).isKnown).toBe(false);
});

describe("functions of OpenTofu", () => {
  it.each([
    ['cidrcontains("10.0.0.0/8", "10.1.2.3")', true],
    ['cidrcontains("10.0.0.0/8", "10.0.0.0/7")', false],
    ['urldecode("a+b%20c")', "a b c"],
    ['base64gunzip(base64gzip("hello"))', "hello"],
    ['convert({ a = "1" }, object({ a = number, b = optional(string, "x") })).b', "x"],
    ['assumeequal("1", 1)', 1],
    ['assumestringprefix("abc", "ab")', "abc"],
    ["length(assumelistlength([1, 2], 1, 3))", 2],
  ])("%s", (text, expected) => {
    expect(run(text).equals(decodeJsonImplied(JSON.stringify(expected)))).toBe(true);
  });

  it("fail when an assumption is wrong", () => {
    for (const text of [
      'assumestringprefix("abc", "x")',
      "assumelistlengthmin([1], 2)",
      "assumeequal(1, 2)",
    ]) {
      expect(hasErrors(evaluateLine(text).diagnostics)).toBe(true);
    }
  });

  it("narrow unknown values", () => {
    const unknown = {
      list: Value.unknown(Type.list(Type.string)),
      text: Value.unknown(Type.string),
    };
    expect(run("length(assumelistlength(list, 2, 2))", unknown).equals(Value.number(2))).toBe(true);
    expect(run("assumenotnull(text) == null", unknown).equals(Value.false)).toBe(true);
  });
});

describe("regular expressions", () => {
  it("take linear time", () => {
    const text = `regexall("(a*)*b", join("", [for i in range(1000) : "aaaaaaaaaa"]))`;
    expect(run(`length(${text})`).equals(Value.zero)).toBe(true);
  });

  it.each(["(?=a)", "(?!a)", "(a)\\\\1", "(?<=a)b"])("refuse %s", (pattern) => {
    expect(hasErrors(evaluateLine(`regex("${pattern}", "a")`).diagnostics)).toBe(true);
  });
});
