import { describe, expect, it } from "vitest";
import { ProviderSourceError } from "../errors.ts";
import { parseLockFile } from "./lock-parser.ts";

const A = 'provider "example.com/test/a"';

function problems(text: string): string[] {
  try {
    parseLockFile(text, { filename: "x.hcl" });
  } catch (error) {
    if (!ProviderSourceError.is(error, "PROVIDER_SOURCE_LOCK_FILE_INVALID")) throw error;
    const [first] = error.details.problems;
    expect(error.message).toContain(`x.hcl:${first?.line}:${first?.column}: ${first?.message}`);
    return error.details.problems.map(
      ({ line, column, message }) => `${line}:${column} ${message}`,
    );
  }
  throw new Error("the text was taken");
}

describe("reading lock files", () => {
  it.each([
    ["an empty file", "", 0],
    ["comments alone", "# a\n// b\n/* c\n d */ /**/\n", 0],
    ["a byte order mark and Windows line ends", `\ufeff${A} {\r\n  version = "1.0.0"\r\n}\r\n`, 1],
    ["no line end at the end", `${A} {\n  version = "1.0.0"\n}`, 1],
    ["a block on one line", `${A} { version = "1.0.0" }\n`, 1],
    [
      "arguments in any order",
      `${A} {\n constraints = ""\n hashes=["h1:x"]\n\n\tversion="1.0.0" # c\n}`,
      1,
    ],
    [
      "a list over lines with comments",
      `${A} {\n version="1.0.0"\n hashes = [ # a\n "h1:x" /* b */ ,\n\n "h1:y"\n ]\n}`,
      1,
    ],
    [
      "a comment before the label",
      'provider /* x */ "example.com/test/a" {\n version = "1.0.0"\n}',
      1,
    ],
    [
      "an address with escapes",
      'provider "example.com/\\u0074est/\\U00000061" {\n version = "1.0.0"\n}',
      1,
    ],
    [
      "an address that is not composed",
      'provider "example.com/test/u\\u0308" {\n version = "1.0.0"\n}',
      1,
    ],
  ])("takes %s", (_, text, count) => {
    expect(parseLockFile(text).locks.providers.size).toBe(count);
  });

  it("keeps hashes of any scheme, with their escapes undone", () => {
    const { locks } = parseLockFile(
      `${A} {\n  version = "1.0.0"\n  hashes = ["x:\\"\\\\\\t$\${y}%%{z}$$$\${\\n\\u00e9"]\n}`,
    );
    const [lock] = locks.providers.values();
    expect(lock?.hashes).toEqual(['x:"\\\t${y}%{z}$$${\né']);
    expect(parseLockFile(locks.toString()).locks.toString()).toBe(locks.toString());
  });

  it("warns of locks for modules, once", () => {
    const { locks, warnings } = parseLockFile(
      `module "a" {\n  any { thing = ["}"] }\n}\n${A} {\n  version = "1.0.0"\n}\nmodule "b" {\n}\n`,
    );
    expect(locks.providers.size).toBe(1);
    expect(warnings).toMatchObject([{ line: 1, column: 1 }]);
  });

  it.each([
    ["version = 1", '1:1 the argument "version" cannot stand outside of a block'],
    [
      "resource {",
      '1:1 blocks of type "resource" do not exist in lock files; there are only provider blocks',
    ],
    ["provider {", '1:10 there must be the quoted provider address, but there is "{"'],
    ["provider a {", '1:10 there must be the quoted provider address, but there is "a"'],
    [`${A} "b" {`, '1:31 there must be "{" behind the label, but there is "b"'],
    [`${A}\n{`, '1:30 there must be "{" behind the label, but there is the end of the line'],
    [`${A} {`, '1:32 there must be an argument or "}", but there is the end of the file'],
    [`${A} {\n`, '2:1 there must be an argument or "}", but there is the end of the file'],
    [`${A} {} x`, '1:34 there must be a line end behind the block, but there is "x"'],
    [
      `${A} { version = "1.0.0" hashes`,
      '1:51 there must be "}" to close the block on the line where it was opened, but there is "hashes"',
    ],
    [
      `${A} {\n  version "1.0.0"\n}`,
      '2:11 there must be "=" behind "version", but there is "1.0.0"',
    ],
    [`${A} {\n  version = 1\n}`, '2:13 the character "1" cannot stand here'],
    [
      `${A} {\n  version = null\n}`,
      '2:13 there must be a quoted string or a list behind "version =", but there is "null"',
    ],
    [
      `${A} {\n  version = "1.0.0" "x"\n}`,
      '2:21 there must be a line end behind the argument, but there is "x"',
    ],
    [`${A} {\n  version = "1.0.0\n}`, "2:13 the quoted string is not closed on its line"],
    [
      `${A} {\n  version = "\${x}"\n}`,
      '2:14 "${" starts a template, which lock files cannot have; write "$${" for the signs themselves',
    ],
    [
      `${A} {\n  version = "é\\x"\n}`,
      '2:15 the escape sequence does not exist; there are \\n \\r \\t \\" \\\\ \\uNNNN and \\UNNNNNNNN',
    ],
    [
      `${A} {\n  version = "\\ud800"\n}`,
      '2:14 the escape sequence does not exist; there are \\n \\r \\t \\" \\\\ \\uNNNN and \\UNNNNNNNN',
    ],
    [
      `${A} {\n  version = <<EOT\nEOT\n}`,
      "2:13 here documents are not supported in lock files; write a quoted string",
    ],
    [
      `${A} {\n  hashes = ["h1:a" "h1:b"]\n}`,
      '2:20 there must be "," between the strings of the list, but there is "h1:b"',
    ],
    [`${A} {\n  hashes = [,]\n}`, '2:13 there must be a quoted string or "]", but there is ","'],
    [
      `${A} {\n  hashes = [["h1:a"]]\n}`,
      '2:13 there must be a quoted string or "]", but there is "["',
    ],
    ["/* x\n", "1:1 the comment is not closed"],
    ["/* x\ny */ ;", '2:6 the character ";" cannot stand here'],
  ])("refuses %j with the place", (text, problem) => {
    expect(problems(text)).toEqual([problem]);
  });

  it.each([
    [
      `provider "aws" {\n  version = "1.0.0"\n}`,
      '1:10 the address must be written in full, as "registry.terraform.io/hashicorp/aws"',
    ],
    [
      `provider "Example.com/test/a" {\n  version = "1.0.0"\n}`,
      '1:10 the address must be written in full, as "example.com/test/a"',
    ],
    [
      `provider "terraform.io/builtin/terraform" {\n  version = "1.0.0"\n}`,
      "1:10 the built-in provider terraform.io/builtin/terraform cannot be locked",
    ],
    [
      `provider "registry.terraform.io/-/aws" {\n  version = "1.0.0"\n}`,
      "1:10 the legacy provider registry.terraform.io/-/aws cannot be locked",
    ],
    [`${A} {\n}`, '1:1 the argument "version" is missing'],
    [`${A} {\n  version = "1.0"\n}`, '2:13 the version must be written as "1.0.0"'],
    [`${A} {\n  version = ["1.0.0"]\n}`, '2:13 "version" must be a quoted string'],
    [
      `${A} {\n  version = "1.0.0"\n  constraints = ">=1"\n}`,
      '3:17 the constraints must be written as ">= 1.0.0"',
    ],
    [
      `${A} {\n  version = "1.0.0"\n  version = "1.0.0"\n}`,
      '3:3 the argument "version" is repeated',
    ],
    [
      `${A} {\n  version = "1.0.0"\n  source = "x"\n}`,
      '3:3 the argument "source" does not exist; there are version, constraints and hashes',
    ],
    [
      `${A} {\n  version = "1.0.0"\n  hashes = []\n}`,
      '3:12 "hashes" must not be empty; leave it out instead',
    ],
    [
      `${A} {\n  version = "1.0.0"\n  hashes = "h1:a"\n}`,
      '3:12 "hashes" must be a list of quoted strings',
    ],
    [
      `${A} {\n  version = "1.0.0"\n}\n${A} {\n  version = "2.0.0"\n}`,
      "4:1 example.com/test/a is already locked at line 1",
    ],
  ])("finds what is wrong in %j", (text, problem) => {
    expect(problems(text)).toEqual([problem]);
  });

  it("finds all that is wrong at once, in order, up to the first break of syntax", () => {
    const found = problems(
      `${A} {\n  version = "v1"\n  hashes = ["x", ":y"]\n}\nprovider "a b" {\n  version = "1"\n}\n`,
    );
    expect(found.map((problem) => problem.split(" ")[0])).toEqual([
      "2:13",
      "3:13",
      "3:18",
      "5:10",
      "6:13",
    ]);
    const both = problems(`${A} {\n}\n\n${A} [`);
    expect(both.map((problem) => problem.split(" ")[0])).toEqual(["4:31"]);
  });
});
