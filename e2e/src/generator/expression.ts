import type { Dice } from "./dice.ts";
import { BOOL, NUMBER, STRING, sameType, type ValueType } from "./value-type.ts";

/** Something that an expression may refer to. */
export interface Reference {
  readonly text: string;
  readonly type: ValueType;
}

const WORDS = [
  "a",
  "b",
  "blue",
  "Crème",
  "x-1",
  "",
  "10",
  "true",
  "two words",
  "$${x}",
  "%%{y}",
  "é\\n",
];
const KEYS = ["a", "b", "c", "key-1", "K2"];

/**
 * Expressions of given types over references. `&&` and `||` have one side that does not decide: with an unknown or failing side that
 * does not matter they are decided as by newer versions of the reference command than the one that is compared with.
 */
export class ExpressionSource {
  readonly #dice: Dice;
  readonly #references: readonly Reference[];
  readonly #isWide: boolean;
  #names = 0;

  /** @param isWide whether it has what cases have had since they can be wide */
  constructor(dice: Dice, references: readonly Reference[], isWide = false) {
    this.#dice = dice;
    this.#isWide = isWide;
    this.#references = references;
  }

  /** An expression of the type, of at most so many levels. */
  of(type: ValueType, depth: number): string {
    const dice = this.#dice;
    const known = this.#references.filter((one) => sameType(one.type, type));
    if (known.length > 0 && dice.chance(depth > 0 ? 35 : 50)) return dice.pick(known).text;
    if (depth <= 0) return this.literal(type, 0);
    if (dice.chance(12)) {
      const branch = (): string => this.of(type, depth - 1);
      return `(${this.of(BOOL, depth - 1)} ? ${branch()} : ${branch()})`;
    }
    if (dice.chance(4)) return `try(${this.#failing()}, ${this.of(type, depth - 1)})`;
    if (dice.chance(3)) return `coalesce(null, ${this.of(type, depth - 1)})`;
    return this.#made(type, depth);
  }

  /** A value that is written out; parts may be expressions while there are levels left. */
  literal(type: ValueType, depth: number): string {
    const dice = this.#dice;
    switch (type.kind) {
      case "string":
        return `"${dice.pick(WORDS)}"`;
      case "number":
        return dice.pick(["0", "1", "2", "7", "-3", "1.5", "100000"]);
      case "bool":
        return dice.pick(["true", "false"]);
      case "list":
        return `[${dice.times(0, 3, () => this.of(type.element, depth - 1)).join(", ")}]`;
      case "set":
        return `toset([${dice.times(0, 3, () => this.of(type.element, depth - 1)).join(", ")}])`;
      case "map": {
        const keys = KEYS.filter(() => dice.chance(40));
        const members = keys.map((key) => `"${key}" = ${this.of(type.element, depth - 1)}`);
        return `{ ${members.join(", ")} }`.replace("{  }", "{}");
      }
      case "object": {
        const members = [...type.attributes].map(
          ([name, own]) => `${name} = ${this.of(own, depth - 1)}`,
        );
        return `{ ${members.join(", ")} }`;
      }
      default:
        return type satisfies never;
    }
  }

  #made(type: ValueType, depth: number): string {
    const dice = this.#dice;
    const less = depth - 1;
    const string = (): string => this.of(STRING, less);
    const number = (): string => this.of(NUMBER, less);
    const bool = (): string => this.of(BOOL, less);
    const strings: ValueType = { kind: "list", element: STRING };
    const numbers: ValueType = { kind: "list", element: NUMBER };
    const words: ValueType = { kind: "map", element: STRING };
    switch (type.kind) {
      case "string":
        return dice.pick<() => string>([
          () => this.literal(type, less),
          () => `"\${${string()}}-\${${number()}}"`,
          () => `"%{ if ${bool()} }yes \${${string()}}%{ else }no%{ endif }"`,
          () => `upper(${string()})`,
          () => `join("/", ${this.of(strings, less)})`,
          () => `format("%s:%d", ${string()}, floor(${number()}))`,
          () => `jsonencode(${this.of(words, less)})`,
          () => `sha256(${string()})`,
          () => `replace(${string()}, "/[a-c]+/", "_")`,
          () => `substr(${string()}, 0, 2)`,
          () => `try(${this.of(strings, less)}[0], ${string()})`,
          () => `lookup(${this.of(words, less)}, "a", ${string()})`,
          () => `trimspace("  \${${string()}} ")`,
          () => `tostring(${number()})`,
          () => `base64encode(${string()})`,
          () => `join(",", sort(${this.of(strings, less)}))`,
          ...(this.#isWide
            ? [
                () => `trimspace(yamlencode(${this.of(words, less)}))`,
                () => `cidrsubnet("10.0.0.0/8", 8, floor(abs(${number()})) % 200)`,
                () => `title(lower(${string()}))`,
                () => `one(slice([${string()}], 0, 1))`,
                () => `join("", formatlist("%s-%s", ${this.of(strings, less)}, ${string()}))`,
                () => `element([${string()}, ${string()}], floor(abs(${number()})))`,
                () => `join("|", [for k, v in ${this.of(words, less)} : "\${k}=\${v}"])`,
                () => `join("", regexall("[a-z]+", ${string()}))`,
                () => `nonsensitive(sensitive(${string()}))`,
              ]
            : []),
        ])();
      case "number":
        return dice.pick<() => string>([
          () => this.literal(type, less),
          () => `(${number()} + ${number()})`,
          () => `(${number()} * 2 - ${number()})`,
          () => `(${number()} / 4)`,
          () => `(floor(${number()}) % 5)`,
          () => `length(${this.of(strings, less)})`,
          () => `length(${this.of(words, less)})`,
          () => `max(${number()}, ${number()})`,
          () => `abs(${number()})`,
          () => `sum(concat(${this.of(numbers, less)}, [0]))`,
          () => `parseint("ff", 16)`,
          () => `-${number()}`.replace("--", ""),
          ...(this.#isWide
            ? [
                () => `ceil(${number()})`,
                () => `min(concat(${this.of(numbers, less)}, [9])...)`,
                () => `try(index(${this.of(strings, less)}, ${string()}), 0)`,
                () => `length(setproduct(${this.of(strings, less)}, ["x", "y"]))`,
                () => `signum(${number()})`,
                () => `length(jsondecode(jsonencode(${this.of(strings, less)})))`,
              ]
            : []),
        ])();
      case "bool":
        return dice.pick<() => string>([
          () => this.literal(type, less),
          () => `(${number()} > ${number()})`,
          () => `(${string()} == ${string()})`,
          () => `(${this.of(words, less)} != ${this.of(words, less)})`,
          () => `!${bool()}`,
          () => `anytrue([${bool()}, ${bool()}])`,
          () => `contains(${this.of(strings, less)}, ${string()})`,
          () => `can(${this.#failing()})`,
          () => `alltrue([${bool()}, ${bool()}])`,
          () => `startswith(${string()}, "a")`,
          ...(this.#isWide
            ? [
                () => `(true && ${bool()})`,
                () => `(${bool()} && true)`,
                () => `(false || ${bool()})`,
                () => `(${bool()} || false)`,
                () => `issensitive(${string()})`,
                () => `(${string()} == null)`,
                () => `endswith(${string()}, "e")`,
                () => `strcontains(${string()}, "x")`,
                () => `(length(${this.of(strings, less)}) <= ${number()})`,
              ]
            : []),
        ])();
      case "list": {
        const element = (): string => this.of(type.element, less);
        return dice.pick<() => string>([
          () => this.literal(type, less),
          () => `concat(${this.of(type, less)}, [${element()}])`,
          () => this.#each((name) => `[for ${name} in ${this.of(type, less)} : ${name}]`),
          () => `slice(concat([${element()}, ${element()}], ${this.of(type, less)}), 0, 2)`,
          () => `reverse(${this.of(type, less)})`,
          () => `values(${this.of({ kind: "map", element: type.element }, less)})`,
          () => `flatten([${this.of(type, less)}, []])`,
          () =>
            this.#each((name) => `[for i, ${name} in ${this.of(type, less)} : ${name} if i != 1]`),
          ...(type.element.kind === "string"
            ? [
                () => `split(",", ${string()})`,
                () => `keys(${this.of(words, less)})`,
                () => `distinct(${this.of(type, less)})`,
                () => `compact(${this.of(type, less)})`,
                () => `sort(tolist(${this.of({ kind: "set", element: STRING }, less)}))`,
              ]
            : []),
          ...(type.element.kind === "number" ? [() => "range(3)"] : []),
          ...(this.#isWide
            ? [
                () => `flatten([for a in [${this.of(type, less)}, ${this.of(type, less)}] : a])`,
                () => `chunklist(concat(${this.of(type, less)}, [${element()}]), 2)[0]`,
                () => `coalescelist(${this.of(type, less)}, [${element()}])`,
                () => `tolist(${this.of(type, less)})[*]`,
              ]
            : []),
        ])();
      }
      case "set": {
        const list: ValueType = { kind: "list", element: type.element };
        return dice.pick<() => string>([
          () => this.literal(type, less),
          () => `toset(${this.of(list, less)})`,
          () => `setunion(${this.of(type, less)}, ${this.of(type, less)})`,
          () => `setsubtract(${this.of(type, less)}, ${this.of(type, less)})`,
        ])();
      }
      case "map": {
        const element = (): string => this.of(type.element, less);
        return dice.pick<() => string>([
          () => this.literal(type, less),
          () => `merge(${this.of(type, less)}, { z = ${element()} })`,
          () =>
            `{ for k in ${this.of({ kind: "set", element: STRING }, less)} : k => ${element()} }`,
          () => `{ for k, v in ${this.of(type, less)} : "\${k}!" => v if k != "b" }`,
          () => `zipmap(["p", "q"], [${element()}, ${element()}])`,
          () => `tomap(${this.literal(type, less)})`,
          ...(this.#isWide
            ? [
                () =>
                  `{ for k, g in { for v in ${this.of({ kind: "list", element: STRING }, less)} : v => ${element()}... if v != "" } : k => g[0] }`,
                () => `merge([${this.of(type, less)}, ${this.of(type, less)}]...)`,
              ]
            : []),
        ])();
      }
      case "object":
        return this.literal(type, less);
      default:
        return type satisfies never;
    }
  }

  #each(text: (name: string) => string): string {
    this.#names += 1;
    return text(`e${this.#names}`);
  }

  /** An expression that cannot be evaluated. */
  #failing(): string {
    return this.#dice.pick(['tonumber("x")', "[][0]", '{}["k"]', 'jsondecode("{")']);
  }
}
