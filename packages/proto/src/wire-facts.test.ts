import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { compileProtos, PACKAGE_FOLDER } from "./testing/descriptors.ts";
import { type FieldFacts, type PackageFacts, packageFacts } from "./testing/facts.ts";

// The fixtures are a transcription of the published interfaces that was made apart from the
// `.proto` files: from the tables or files that describe them, by a parser of its own.
const FIXTURES = join(PACKAGE_FOLDER, "fixtures");
const fixtures = readdirSync(FIXTURES).map(
  (file): PackageFacts => JSON.parse(readFileSync(join(FIXTURES, file), "utf8")),
);
const registry = compileProtos();

const byNumber = (fields: readonly FieldFacts[]): FieldFacts[] =>
  fields.toSorted((a, b) => a.number - b.number);

test("every published package has a fixture", () => {
  const published = new Set(
    [...registry.files]
      .map((file) => file.proto.package)
      .filter((name) => !/^(google\.protobuf|stackwright\b.*)$/.test(name)),
  );
  expect([...published].toSorted()).toEqual(fixtures.map((facts) => facts.package).toSorted());
});

describe.each(fixtures.map((facts) => [facts.package, facts] as const))("%s", (name, expected) => {
  const actual = packageFacts(registry, name);

  test("has the published services and methods, and no others", () => {
    expect(actual.services).toEqual(expected.services);
  });

  test("has the published messages, and no others", () => {
    expect(Object.keys(actual.messages).toSorted()).toEqual(
      Object.keys(expected.messages).toSorted(),
    );
  });

  test.each(Object.keys(expected.messages))("%s has the published fields", (message) => {
    expect(byNumber(actual.messages[message] ?? [])).toEqual(
      byNumber(expected.messages[message] ?? []),
    );
  });

  test("has the published enums and values", () => {
    expect(actual.enums).toEqual(expected.enums);
  });
});
