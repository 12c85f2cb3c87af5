import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { compileProtos, filesOf, messagesOf, PACKAGE_FOLDER } from "./testing/descriptors.ts";
import { generatedType } from "./testing/generated-message.ts";
import { GENERATED_MODULES } from "./testing/generated-modules.ts";

interface Manifest {
  readonly exports: Readonly<Record<string, string>>;
  readonly publishConfig: {
    readonly exports: Readonly<
      Record<string, { readonly types: string; readonly default: string }>
    >;
  };
}

const manifest: Manifest = JSON.parse(readFileSync(join(PACKAGE_FOLDER, "package.json"), "utf8"));
const registry = compileProtos();

describe.each(Object.entries(manifest.exports))("the subpath %s", (subpath, source) => {
  test("is a file", () => {
    expect(existsSync(join(PACKAGE_FOLDER, source))).toBe(true);
  });

  test("is published as what is built from that file", () => {
    const built = source.replace("./src/", "./dist/").replace(/\.ts$/, "");
    expect(manifest.publishConfig.exports[subpath]).toEqual({
      types: `${built}.d.ts`,
      default: `${built}.js`,
    });
  });
});

test("every proto package has a subpath", () => {
  for (const file of registry.files) {
    const index = `./src/gen/${file.proto.package.replaceAll(".", "/")}/index.ts`;
    expect(Object.values(manifest.exports)).toContain(index);
  }
});

describe.each(Object.entries(GENERATED_MODULES))("the index of %s", (name, module) => {
  test("exports every message", () => {
    for (const desc of messagesOf(registry, name)) {
      expect(generatedType(module, desc)).toHaveProperty("decode");
    }
  });

  test("exports a client and a definition of every service", () => {
    for (const service of filesOf(registry, name).flatMap((file) => file.services)) {
      expect(module[`${service.name}Client`]).toBeTypeOf("function");
      expect(module[`${service.name}Service`]).toBeTypeOf("object");
    }
  });

  test("exports no entries of maps", () => {
    const messages = new Set([...messagesOf(registry, name)].map((desc) => desc.name));
    const entries = Object.keys(module).filter((key) => key.endsWith("Entry"));
    expect(entries.filter((key) => !messages.has(key))).toEqual([]);
  });
});
