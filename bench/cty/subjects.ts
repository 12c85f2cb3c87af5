import { Type, Value } from "@stackwright/cty";

/** Plain data that both sides of a comparison hold. */
export type Plain = string | number | boolean | Plain[] | { [name: string]: Plain };

/** Data of one shape in one size: as plain JavaScript data, and how to make a value of it. */
export interface Subject {
  readonly name: string;
  readonly size: number;
  readonly plain: Plain;
  readonly type: Type;
  readonly build: () => Value;
  /** What the value is converted to. */
  readonly target: Type;
}

function text(i: number): string {
  return `value-${(i * 2654435761) % 1000003}`;
}

/** An object with attributes of three types, as a wide resource or a map written as an object has. */
export function wideObject(size: number): Subject {
  const entries = Array.from({ length: size }, (_, i): [string, Plain] => {
    const name = `attribute_${String(i).padStart(6, "0")}`;
    if (i % 3 === 0) return [name, text(i)];
    return i % 3 === 1 ? [name, i * 7] : [name, i % 2 === 0];
  });
  const build = (): Value =>
    Value.object(entries.map(([name, part]) => [name, scalar(part)] as const));
  const type = build().type;
  return {
    name: "object",
    size,
    plain: Object.fromEntries(entries),
    type,
    build,
    target: Type.map(Type.string),
  };
}

/** A list of strings. */
export function stringList(size: number): Subject {
  const plain = Array.from({ length: size }, (_, i) => text(i));
  const type = Type.list(Type.string);
  const build = (): Value => Value.list(plain.map((part) => Value.string(part)));
  return { name: "list of strings", size, plain, type, build, target: Type.set(Type.string) };
}

/** A list of numbers. */
export function numberList(size: number): Subject {
  const plain = Array.from({ length: size }, (_, i) => i * 17);
  const type = Type.list(Type.number);
  const build = (): Value => Value.list(plain.map((part) => Value.number(part)));
  return { name: "list of numbers", size, plain, type, build, target: Type.list(Type.string) };
}

/** A list of objects, as instances of a resource are. */
export function objectList(size: number): Subject {
  const plain = Array.from({ length: size }, (_, i) => ({
    enabled: i % 2 === 0,
    id: text(i),
    size: i,
    tags: [text(i + 1), text(i + 2)],
  }));
  const type = Type.list(
    Type.object({
      enabled: Type.bool,
      id: Type.string,
      size: Type.number,
      tags: Type.list(Type.string),
    }),
  );
  const build = (): Value =>
    Value.list(
      plain.map((part) =>
        Value.object({
          enabled: Value.bool(part.enabled),
          id: Value.string(part.id),
          size: Value.number(part.size),
          tags: Value.list(part.tags.map((tag) => Value.string(tag))),
        }),
      ),
    );
  const target = Type.list(
    Type.object({ id: Type.string, size: Type.string, tags: Type.set(Type.string) }),
  );
  return { name: "list of objects", size, plain, type, build, target };
}

function scalar(part: Plain): Value {
  if (typeof part === "string") return Value.string(part);
  return typeof part === "number" ? Value.number(part) : Value.bool(part === true);
}
