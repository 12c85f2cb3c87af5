import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parsePackageHash, Version } from "@stackwright/provider-source";
import { describe, expect, it } from "vitest";
import { TEST_PROGRAMS } from "../testing/test-programs.ts";
import type { ProgramParameters } from "./catalog.ts";
import { WHOLE_PACKAGE } from "./kept-schema.ts";
import { type PulumiOriginOptions, pulumiOrigin } from "./pulumi-origin.ts";

const REFERENCE = { source: "stackwright.local/pulumi/chatty", version: "1.0.0", alias: "" };

/** A plug-in that writes a line for each of its starts. */
async function setUp() {
  const scratch = await mkdtempDisposable(join(tmpdir(), "kept-schema-"));
  const [path, log] = [join(scratch.path, "resource-chatty-v1.0.0"), join(scratch.path, "starts")];
  await mkdir(path);
  const program = join(path, "pulumi-resource-chatty");
  await writeFile(log, "");
  await writeFile(
    program,
    `#!/bin/sh\necho started >>"${log}"\nexec "${process.execPath}" "${TEST_PROGRAMS.chattyProvider}" "$@"\n`,
  );
  await chmod(program, 0o755);
  const origin = (digest: string | undefined = "h1:one", more: PulumiOriginOptions = {}) => {
    const hashes = digest === "" ? {} : { hashes: [parsePackageHash(digest)] };
    return pulumiOrigin({
      installed: new Map([["chatty", { path, version: Version.parse("1.0.0"), ...hashes }]]),
      schemaFolder: join(scratch.path, "schemas"),
      ...more,
    });
  };
  return {
    origin,
    program,
    starts: async () => (await readFile(log, "utf8")).split("\n").length - 1,
    /** Names of the types, as the schema has them. */
    types: async (from: ReturnType<typeof origin>) => {
      const [{ provider }] = await from.open(REFERENCE);
      try {
        return [...(await provider.schema({})).schema.resources.keys()];
      } finally {
        await provider.close();
      }
    },
    [Symbol.asyncDispose]: () => scratch.remove(),
  };
}

describe("the schema of an installed plug-in", { timeout: 60_000 }, () => {
  it("is kept by the hash of its files: for it alone the program is not started again", async () => {
    await using tried = await setUp();
    expect(await tried.types(tried.origin())).toContain("chatty_chatty_note");
    expect(await tried.starts()).toBe(1);
    expect(await tried.types(tried.origin())).toContain("chatty_chatty_note");
    expect(await tried.starts()).toBe(1);
    expect(await tried.types(tried.origin("h1:two"))).toContain("chatty_chatty_note");
    expect(await tried.starts()).toBe(2);
  });

  it("does not hide that the program is asked for all else, or that it does not start", async () => {
    await using tried = await setUp();
    await tried.types(tried.origin());
    const [{ provider, check }] = await tried.origin().open(REFERENCE);
    await check?.();
    const { schema } = await provider.schema({});
    await provider.stop({});
    expect(await tried.starts()).toBe(1);
    expect([...schema.resources.keys()]).toContain("chatty_chatty_note");
    const program = await tried.origin().openPulumi?.(REFERENCE);
    expect(await program?.provider.getPluginInfo({}, {})).toEqual({ version: "0.0.1" });
    expect(await tried.starts()).toBe(2);
    await program?.close();
    await provider.close();
    await writeFile(tried.program, "#!/bin/sh\nexit 3\n");
    const broken = await tried.origin().openPulumi?.(REFERENCE);
    await expect(broken?.provider.getPluginInfo({}, {})).rejects.toMatchObject({
      code: "MUX_PROCESS_ENDED",
    });
    await broken?.close();
  });

  it("has the descriptions of its attributes without what lies in the place of the program", async () => {
    await using tried = await setUp();
    await tried.types(tried.origin());
    const mark = join(dirname(tried.program), "mark");
    await writeFile(tried.program, `#!/bin/sh\ntouch "${mark}"\nexit 3\n`);
    const [{ provider }] = await tried.origin().open(REFERENCE);
    const { schema } = await provider.schema({});
    await provider.close();
    const note = schema.resources.get("chatty_chatty_note");
    expect(note?.block.attributes.get("text")?.description).toBe("What is written.");
    expect(existsSync(mark)).toBe(false);
    // All that is not kept starts what lies there.
    const program = await tried.origin().openPulumi?.(REFERENCE);
    await expect(program?.provider.getPluginInfo({}, {})).rejects.toMatchObject({
      code: "MUX_PROCESS_ENDED",
    });
    expect(existsSync(mark)).toBe(true);
    await program?.close();
  });

  it("is not kept where nothing says which program it is of, or nothing is to be kept", async () => {
    await using tried = await setUp();
    await tried.types(tried.origin(""));
    await tried.types(tried.origin(""));
    expect(await tried.starts()).toBe(2);
    const unkept = () => tried.origin("h1:one", { schemaFolder: undefined });
    await tried.types(unkept());
    await tried.types(unkept());
    expect(await tried.starts()).toBe(4);
  });

  it("is another one for each recorded value of parameters, and not kept for words", async () => {
    await using tried = await setUp();
    const nameWith = async (parameters: ProgramParameters | undefined) => {
      const program = await tried.origin().openPulumi?.(REFERENCE, { parameters });
      const reply = await program?.provider.getSchema(WHOLE_PACKAGE, {});
      await program?.close();
      return (JSON.parse(reply?.schema ?? "{}") as { readonly name?: string }).name;
    };
    const recorded = (value: string, version = "0.3.0") => ({
      name: "mint",
      version,
      value: Buffer.from(value).toString("base64"),
    });
    const names: (string | undefined)[] = [];
    for (const parameters of [undefined, recorded("planted"), undefined, recorded("planted")]) {
      names.push(await nameWith(parameters));
    }
    expect(names).toEqual(["chatty", "mint", "chatty", "mint"]);
    expect(await tried.starts()).toBe(2);
    // What is another package is not taken for the one that is kept.
    await expect(nameWith(recorded("dug up"))).rejects.toThrow("refuses its parameters");
    expect(await nameWith(recorded("planted", "0.4.0"))).toBe("mint");
    expect(await tried.starts()).toBe(4);
    for (const _time of [1, 2]) expect(await nameWith(["thyme", "1.0.0"])).toBe("thyme");
    expect(await tried.starts()).toBe(6);
  });
});
