import { Path, Type, type Value, walk } from "@stackwright/cty";
import type { AttributeSchema, BlockSchema } from "@stackwright/mux/router";

/** Shorter texts occur by chance. */
const MIN_LENGTH = 6;

/** The texts that a configuration has in sensitive and write-only attributes, in nested ones too. */
export function secretTexts(block: BlockSchema, config: Value): ReadonlySet<string> {
  const texts = new Set<string>();
  walkSecrets(block, config, (value) => {
    for (const text of textsOf(value)) if (text.length >= MIN_LENGTH) texts.add(text);
  });
  return texts;
}

/** Paths of what is not declared secret in an object, and has a text that is. */
export function leakedPaths(
  block: BlockSchema,
  object: Value,
  secrets: ReadonlySet<string>,
): readonly string[] {
  if (secrets.size === 0 || object.isNull) return [];
  const declared = new Set<string>();
  for (const [name, { sensitive, writeOnly }] of block.attributes) {
    if (sensitive || writeOnly) declared.add(name);
  }
  return [...object.entries()]
    .filter(([name]) => !declared.has(name) && block.attributes.has(name))
    .filter(([, value]) =>
      textsOf(value).some((text) => [...secrets].some((secret) => text.includes(secret))),
    )
    .map(([name]) => Path.root.attribute(name).toString());
}

function walkSecrets(block: BlockSchema, value: Value, found: (value: Value) => void): void {
  if (value.isNull || !value.isKnown) return;
  const members = new Map(value.entries());
  for (const [name, attribute] of block.attributes) {
    const member = members.get(name);
    if (member !== undefined) attributeSecrets(attribute, member, found);
  }
  for (const [name, { block: inner, nesting }] of block.blocks) {
    const member = members.get(name);
    if (member === undefined || member.isNull || !member.isKnown) continue;
    const objects = nesting === "single" || nesting === "group" ? [member] : elementsOf(member);
    for (const object of objects) walkSecrets(inner, object, found);
  }
}

function attributeSecrets(
  { sensitive, writeOnly, nested }: AttributeSchema,
  value: Value,
  found: (value: Value) => void,
): void {
  if (value.isNull || !value.isKnown) return;
  if (sensitive || writeOnly) {
    found(value);
    return;
  }
  if (nested === undefined) return;
  for (const object of nested.nesting === "single" ? [value] : elementsOf(value)) {
    if (object.isNull || !object.isKnown) continue;
    const members = new Map(object.entries());
    for (const [name, inner] of nested.attributes) {
      const member = members.get(name);
      if (member !== undefined) attributeSecrets(inner, member, found);
    }
  }
}

function elementsOf(value: Value): readonly Value[] {
  const { kind } = value.type;
  return kind === "map" || kind === "object"
    ? [...value.entries()].map(([, element]) => element)
    : [...value.elements()];
}

function textsOf(value: Value): readonly string[] {
  const texts: string[] = [];
  walk(value, (_path, part) => {
    if (part.isKnown && !part.isNull && part.type.equals(Type.string)) texts.push(part.asString());
    return true;
  });
  return texts;
}
