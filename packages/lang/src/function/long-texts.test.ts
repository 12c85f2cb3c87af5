import { Value } from "@stackwright/cty";
import { describe, expect, it } from "vitest";
import { consoleScope } from "../console/console.ts";
import { evaluate } from "../eval/evaluate.ts";
import { createScope } from "../eval/scope.ts";
import { parseExpression, parseFile } from "../syntax/parse.ts";

// Texts that make an expression with several ways through the same characters take the square of their length, or twice the
// time for each character more. Each function has an end all the same; nothing here asserts how quick it is.

const { functions } = consoleScope();
const COUNT = 200_000;
const LONG_TEXTS: Readonly<Record<string, string>> = {
  "line ends before a letter": `${"\r\n".repeat(COUNT)}x`,
  "spaces before a letter": `${" ".repeat(COUNT)}x`,
  "slashes before a letter": `${"/".repeat(COUNT)}\nx`,
  "zeros before a digit": `2024-01-01T00:00:00.${"0".repeat(COUNT)}1Z`,
  letters: `${"a".repeat(COUNT)}\n`,
};
const CALLS = [
  "chomp(text)",
  "trimspace(text)",
  'trim(text, "/")',
  "title(text)",
  "basename(text)",
  "dirname(text)",
  "try(base64decode(text), 0)",
  'try(rsadecrypt(text, "key"), 0)',
  "try(yamldecode(text), 0)",
  "try(jsondecode(text), 0)",
  "try(csvdecode(text), 0)",
  "try(urldecode(text), 0)",
  "try(timeadd(text, text), 0)",
  "try(parseint(text, 10), 0)",
  "try(tonumber(text), 0)",
  "try(cidrsubnet(text, 1, 1), 0)",
  'regexall("a+$", text)',
  'replace(text, "/\\\\s+$/", "")',
  'split("/", text)',
  "indent(2, text)",
];

describe.each(Object.entries(LONG_TEXTS))("%s", (_name, text) => {
  it("is no trap for any function", () => {
    const scope = createScope({ functions, variables: { text: Value.string(text) } });
    for (const call of CALLS) {
      const { value, diagnostics } = evaluate(
        parseExpression({ name: "t", text: call }).value,
        scope,
      );
      expect(diagnostics, call).toEqual([]);
      expect(value, call).toBeDefined();
    }
  });

  it("is no trap in a file", () => {
    const files = [
      `a = <<-EOT\n${text}\nEOT\n`,
      `a = "\${b ~}${text.replaceAll(/[\r\n]/g, "\t")}\${~ c}"\n`,
      text,
      `/*${text}`,
      `a = [${text}`,
    ];
    for (const file of files) expect(parseFile({ name: "a.tf", text: file })).toBeDefined();
  });
});

it("chomp takes all line ends at the end, and no others", () => {
  const chomp = (text: string): unknown =>
    evaluate(
      parseExpression({ name: "t", text: "chomp(text)" }).value,
      createScope({ functions, variables: { text: Value.string(text) } }),
    ).value.equals(Value.string("a\r\n\nb"));
  for (const end of ["", "\n", "\r", "\r\n", "\n\r\r\n\n"]) {
    expect(chomp(`a\r\n\nb${end}`), JSON.stringify(end)).toBe(true);
  }
});
