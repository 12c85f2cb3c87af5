import fc from "fast-check";

const name = fc.constantFrom("a", "b", "name", "tags", "for_each", "x-y", "größe", "in", "forest");
// A dollar directly before a sequence would escape it, so that a space follows.
const text = fc.constantFrom(
  "",
  "x",
  "a b",
  "é",
  "👍🏽",
  "\\n",
  "\\u00e9",
  "$${x}",
  "%%{",
  "$ ",
  "% ",
  "#",
  "//",
);
const number = fc.constantFrom("0", "1", "42", "1.5", "1e3", "9007199254740993", "0.10");
/** White space that may stand between any two tokens inside of brackets. */
const gap = fc.constantFrom("", " ", "  ", "\n", "\n  # note\n", " /* c */ ", "\t");

/** Expressions of the language as source text, of bounded depth, valid by construction. */
export const expressionText: fc.Arbitrary<string> = fc.letrec<{ expression: string; text: string }>(
  (tie) => {
    const e = tie("expression");
    const quoted = fc
      .array(
        fc.oneof(
          text,
          fc
            .tuple(fc.constantFrom("${", "${~ "), e, fc.constantFrom("}", " ~}"))
            .map((p) => p.join("")),
          fc.tuple(e, text, text).map(([c, t, f]) => `%{ if ${c} }${t}%{ else }${f}%{ endif }`),
          fc.tuple(name, e, text).map(([n, c, t]) => `%{ for ${n} in ${c} ~}${t}%{ endfor }`),
        ),
        { maxLength: 3 },
      )
      .map((parts) => `"${parts.join("")}"`);
    const list = fc.tuple(gap, fc.array(e, { maxLength: 3 }), gap);
    const item = fc.tuple(
      fc.oneof(
        name,
        quoted,
        e.map((x) => `(${x})`),
      ),
      fc.constantFrom("=", ":", " = "),
      e,
    );
    return {
      text: quoted,
      expression: fc.oneof(
        { maxDepth: 4, depthSize: "small" },
        number,
        name.filter((n) => n !== "in"),
        fc.constantFrom("true", "false", "null"),
        quoted,
        fc.tuple(name, name).map(([a, b]) => `${a}.${b}`),
        fc.tuple(name, e).map(([a, i]) => `${a}[${i}]`),
        fc.tuple(name, fc.constantFrom("[*]", ".*"), name).map(([a, s, b]) => `${a}${s}.${b}`),
        fc
          .tuple(e, fc.constantFrom("+", "-", "*", "/", "%", "==", "!=", "<", ">=", "&&", "||"), e)
          .map(([l, o, r]) => `(${l}) ${o} (${r})`),
        fc.tuple(fc.constantFrom("!", "-"), e).map(([o, x]) => `${o}(${x})`),
        fc.tuple(e, e, e).map(([c, t, f]) => `(${c}) ? ${t} : ${f}`),
        list.map(([before, items, after]) => `[${before}${items.join(", ")}${after}]`),
        list.map(([before, items, after]) => `f(${before}${items.join(",")}${after})`),
        fc
          .array(item, { maxLength: 3 })
          .map((items) => `{${items.map((i) => i.join("")).join(", ")}}`),
        fc
          .array(item, { maxLength: 3 })
          .map((items) => `{\n${items.map((i) => `  ${i.join("")}\n`).join("")}}`),
        fc.tuple(name, e, e, e).map(([n, c, v, p]) => `[for ${n} in ${c} : ${v} if ${p}]`),
        fc
          .tuple(name, name, e, e, e)
          .map(([k, n, c, x, v]) => `{for ${k}, ${n} in ${c} : ${x} => ${v}...}`),
      ),
    };
  },
).expression;

const heredoc = fc
  .tuple(
    fc.constantFrom("<<", "<<-"),
    fc.array(
      fc.tuple(
        fc.constantFrom("", "  ", "    "),
        text,
        fc.constantFrom("", "${a}", "%{ if a ~}x%{ endif }"),
      ),
      {
        maxLength: 3,
      },
    ),
  )
  .map(([open, lines]) => `${open}END\n${lines.map((line) => `${line.join("")}\n`).join("")}  END`);

const comment = fc.constantFrom("", "", " # why", " // é 👍🏽", "   #");

/**
 * Files of the language as source text: arguments, blocks, comments, blank lines. The type of a
 * block says how many labels it has, because the oracle cannot hold others together.
 */
export const configText: fc.Arbitrary<string> = fc.letrec<{ body: string }>((tie) => ({
  body: fc
    .array(
      fc.oneof(
        { maxDepth: 3, depthSize: "small" },
        fc.constantFrom("", "\n", "# remark\n", "  // remark\n", "/* a\n b */\n"),
        fc
          .tuple(expressionText, fc.constantFrom("=", " = ", "   ="), comment)
          .map(([e, eq, c]) => ({ e, eq, c })),
        heredoc.map((e) => ({ e, eq: " = ", c: "" })),
        fc
          .tuple(
            fc.array(fc.constantFrom('"l"', "bare", '"l 2"'), { maxLength: 2 }),
            tie("body"),
            comment,
          )
          .map(
            ([labels, body, c]) => `block${labels.length} ${labels.join(" ")} {\n${body}}${c}\n`,
          ),
        expressionText.map((e) => `block0 { one = ${e} }\n`),
      ),
      { maxLength: 4 },
    )
    // Names are numbered, so that no argument is set twice.
    .map((items) =>
      items
        .map((item, index) =>
          typeof item === "string" ? item : `arg${index}${item.eq}${item.e}${item.c}\n`,
        )
        .join(""),
    ),
})).body;
