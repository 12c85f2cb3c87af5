import { describe, expect, it } from "vitest";
import { outline } from "../testing/outline.ts";
import { parseExpression, parseTemplate } from "./parse.ts";

function tree(text: string): string {
  const { value, diagnostics } = parseExpression({ name: "test", text });
  expect(diagnostics).toEqual([]);
  return outline(value);
}

/** The text of a heredoc without sequences. */
function heredoc(...lines: string[]): unknown {
  return JSON.parse(tree(`${lines.join("\n")}\n`));
}

describe("quoted strings", () => {
  it.each([
    ['""', '""'],
    ['"a\\n\\r\\t\\"\\\\"', '"a\\n\\r\\t\\"\\\\"'],
    ['"\\u00e9\\U0001F680"', '"é🚀"'],
    ['"$${a} %%{b} $ % $$ %%"', '"${a} %{b} $ % $$ %%"'],
    ['"$$${a}"', '"$${a}"'],
    ['"a${b}c"', 'template("a" b "c")'],
    ['"${a}"', "wrap(a)"],
    ['"${a}${b}"', "template(a b)"],
    ['"${"${a}"}"', "wrap(wrap(a))"],
    ['"${f("x")} "', 'template(f("x") " ")'],
    ['"a${\n b \n}"', 'template("a" b)'],
    ['"a  ${~ b ~}  c"', 'template("a" b "c")'],
    ['"${~ a ~}"', "wrap(a)"],
    ['"${{ a = 1 }}"', "wrap({a=1})"],
  ])("%s", (text, expected) => {
    expect(tree(text)).toBe(expected);
  });

  it.each([
    ['"\\q"', "LANG_ESCAPE 1-3"],
    ['"\\u12"', "LANG_ESCAPE 1-5"],
    ['"\\ud800"', "LANG_ESCAPE 1-7"],
    ['"\\U00110000"', "LANG_ESCAPE 1-11"],
    ['"a\nb"', "LANG_STRING_NEWLINE 0-2"],
    ['"a', "LANG_STRING_UNTERMINATED 0-1"],
    ['"${a"', "LANG_TEMPLATE_UNCLOSED 1-3"],
    ['"${a b}"', "LANG_TEMPLATE_SEQUENCE 5-6"],
    ['"%{ a }"', "LANG_TEMPLATE_DIRECTIVE 4-5"],
    ['"%{ 1 }"', "LANG_TEMPLATE_DIRECTIVE 4-5"],
    ['"%{ if a }"', "LANG_TEMPLATE_UNBALANCED 1-10"],
    ['"%{ endif }"', "LANG_TEMPLATE_UNBALANCED 1-11"],
    ['"%{ for a in b }%{ endif }"', "LANG_TEMPLATE_UNBALANCED 1-16"],
    ['"%{ if a }%{ else }%{ else }%{ endif }"', "LANG_TEMPLATE_UNBALANCED 1-10"],
  ])("%s is refused", (text, expected) => {
    const { diagnostics } = parseExpression({ name: "test", text });
    const [first] = diagnostics.map((d) => `${d.code} ${d.subject?.start}-${d.subject?.end}`);
    expect(first).toBe(expected);
  });
});

describe("directives", () => {
  it.each([
    ['"%{ if a }b%{ endif }"', 'template(if(a "b" ""))'],
    ['"%{ if a }b%{ else }c%{ endif }d"', 'template(if(a "b" "c") "d")'],
    ['"%{ if a }${b}%{ endif }"', 'template(if(a template(b) ""))'],
    ['"%{ for v in c }${v},%{ endfor }"', 'template(join(for(v in c: template(v ","))))'],
    ['"%{ for k, v in c }x%{ endfor }"', 'template(join(for(k,v in c: "x")))'],
    [
      '"%{ for v in c }%{ if v }y%{ endif }%{ endfor }"',
      'template(join(for(v in c: template(if(v "y" "")))))',
    ],
  ])("%s", (text, expected) => {
    expect(tree(text)).toBe(expected);
  });
});

describe("heredocs", () => {
  it("keep everything up to the marker, without escapes", () => {
    expect(heredoc("<<E", "  a\\n", '"b" $${c}', "  E")).toBe('  a\\n\n"b" ${c}\n');
  });

  it("may be empty", () => {
    expect(heredoc("<<E", "E")).toBe("");
  });

  it("keep carriage returns", () => {
    expect(JSON.parse(tree("<<E\r\na\r\nE\r\n"))).toBe("a\r\n");
  });

  it("do not end at a marker with something behind it", () => {
    expect(heredoc("<<E", "E x", "E")).toBe("E x\n");
  });

  it("lose the smallest indentation when flush", () => {
    expect(heredoc("<<-E", "    a", "      b", "", "    c", "E")).toBe("a\n  b\n\nc\n");
    expect(heredoc("<<-E", "  a", " b", "E")).toBe(" a\nb\n");
  });

  it("count grapheme clusters and not bytes as indentation", () => {
    expect(heredoc("<<-E", "\u2003\u2003a", "  b", "E")).toBe("a\nb\n");
  });

  it("do not count lines of white space only as indentation", () => {
    expect(heredoc("<<-E", "    a", "  ", "    b", "E")).toBe("a\n  \nb\n");
  });

  it("have no indentation to lose when a line begins with a sequence", () => {
    expect(tree("<<-E\n    a\n${b}\nE\n")).toBe('template("    a\\n" b "\\n")');
  });

  it("indent a line by what stands before its first sequence", () => {
    expect(tree("<<-E\n    a\n  ${b}\nE\n")).toBe('template("  a\\n" b "\\n")');
  });

  // A right marker takes the line ending only, and the next line then does not begin a line.
  it("keep the indentation after a line ending that a strip marker took", () => {
    expect(tree("<<-E\n  %{ for x in y ~}\n  ${x}\n  %{ endfor ~}\n  z\nE\n")).toBe(
      'template(join(for(x in y: template("  " x "\\n"))) "  z\\n")',
    );
  });

  it("strip to the left across one text part", () => {
    expect(tree("<<E\na\n  ${~ b }\nE\n")).toBe('template("a\\n" b "\\n")');
  });

  it("hold other heredocs in their sequences", () => {
    expect(tree("<<A\n${<<B\nb\nB\n}\nA\n")).toBe('template("b\\n" "\\n")');
  });

  it("report a missing marker at their beginning", () => {
    const { diagnostics } = parseExpression({ name: "test", text: "<<E\na\nE" });
    expect(diagnostics.map(({ code, subject }) => [code, subject?.start])).toEqual([
      ["LANG_STRING_UNTERMINATED", 0],
    ]);
  });
});

describe("bare templates", () => {
  it("take everything literally up to a sequence", () => {
    const { value, diagnostics } = parseTemplate({ name: "t", text: 'a "b" \\n\n${c}\n$${d}' });
    expect(diagnostics).toEqual([]);
    expect(outline(value)).toBe('template("a \\"b\\" \\\\n\\n" c "\\n${d}")');
  });

  it("may be a single value", () => {
    expect(outline(parseTemplate({ name: "t", text: "${a.b}" }).value)).toBe("wrap(a.b)");
  });

  it("may be empty", () => {
    expect(outline(parseTemplate({ name: "t", text: "" }).value)).toBe('""');
  });
});
