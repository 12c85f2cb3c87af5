import { mkdtempDisposable, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createStoredKeys,
  keyEncryptionKey,
  openStore,
  StackDirectory,
  variableSetKeys,
} from "@stackwright/core";
import { describe, expect, it } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

const template = (word: string): string => `
variable "word" {
  default   = "${word}"
  sensitive = true
}
resource "terraform_data" "a" { input = var.word }
output "word" {
  value     = terraform_data.a.output
  sensitive = true
}
`;

const OLD = Buffer.alloc(32, 7);
const NEW = Buffer.alloc(32, 8);
const WRONG = Buffer.alloc(32, 9);
const idOf = (bytes: Buffer): string => keyEncryptionKey(bytes).id;
const keyEnv = (bytes: Buffer) => ({ STACKWRIGHT_KEY: bytes.toString("base64") });

async function project(word = "hunter2") {
  const folder = await mkdtempDisposable(join(tmpdir(), "command-keys-"));
  const cwd = folder.path;
  await writeFile(join(cwd, "main.tf"), template(word));
  const run = async (env: Record<string, string>, ...words: string[]) =>
    tryCommand(words, { cwd, env });
  return {
    cwd,
    run,
    succeed: async (env: Record<string, string>, ...words: string[]) => {
      const { code, output, error } = await run(env, ...words);
      expect({ code, error }).toEqual({ code: 0, error: "" });
      return output;
    },
    list: async (env: Record<string, string>, ...words: string[]) => {
      const { output } = await run(env, "keys", "list", "--json", ...words);
      return JSON.parse(output);
    },
    [Symbol.asyncDispose]: async () => folder[Symbol.asyncDispose](),
  };
}

describe("the keys of a stack", { timeout: 60_000 }, () => {
  it("are listed with what wraps them and whether the current key can unwrap them", async () => {
    await using made = await project();
    const before = Date.now();
    await made.succeed(keyEnv(OLD), "up", "--yes");
    const listed = await made.list(keyEnv(OLD));
    expect(listed).toEqual({
      stack: "default",
      keyEncryptionKey: idOf(OLD),
      dataKeys: [
        {
          number: 1,
          created: expect.any(String),
          keyEncryptionKey: idOf(OLD),
          current: true,
          readable: true,
        },
      ],
    });
    expect(Date.parse(listed.dataKeys[0].created)).toBeGreaterThanOrEqual(before);
    expect((await made.list(keyEnv(WRONG))).dataKeys[0]).toMatchObject({ readable: false });
    expect(await made.list({})).toMatchObject({ keyEncryptionKey: null });
    const text = await made.succeed(keyEnv(WRONG), "keys", "list");
    expect(text).toContain(`wrapped by ${idOf(OLD)}  not readable`);
    expect(text).toContain(`${idOf(WRONG)}, of STACKWRIGHT_KEY.`);
  });

  it("are rotated: recorded secrets stay readable, new ones have the new key", async () => {
    await using made = await project();
    await made.succeed({}, "up", "--yes");
    const said = await made.succeed({}, "keys", "rotate");
    expect(said).toContain("data key 2");
    expect(said).toContain("keep their data keys until they are written again");
    expect(await made.succeed({}, "output", "--raw", "word")).toBe("hunter2");
    await writeFile(join(made.cwd, "main.tf"), template("correct horse"));
    await made.succeed({}, "up", "--yes");
    expect(await made.succeed({}, "output", "--raw", "word")).toBe("correct horse");
    const { dataKeys } = await made.list({});
    expect(dataKeys).toMatchObject([
      { number: 1, current: false, readable: true },
      { number: 2, current: true, readable: true },
    ]);
  });

  it.each(["file", "variable", "command"])(
    "are rewrapped from a former key of a %s, which is not needed afterwards",
    async (form) => {
      await using made = await project();
      await made.succeed(keyEnv(OLD), "up", "--yes");
      await made.succeed(keyEnv(OLD), "keys", "rotate");
      const created = (await made.list(keyEnv(OLD))).dataKeys.map(
        ({ created: time }: { created: string }) => time,
      );
      await writeFile(join(made.cwd, "old-key"), OLD.toString("hex"));
      const command = `${process.execPath} -p Buffer.alloc(32,7).toString("hex")`;
      const value = { file: "old-key", variable: "FORMER", command }[form] ?? "";
      const env = { ...keyEnv(NEW), FORMER: OLD.toString("base64") };
      const said = await made.succeed(env, "keys", "rewrap", `--from-key-${form}`, value);
      expect(said).toContain(`the key-encryption key ${idOf(NEW)} wraps data keys 1, 2 now`);
      await rm(join(made.cwd, "old-key"));
      expect(await made.succeed(keyEnv(NEW), "output", "--raw", "word")).toBe("hunter2");
      await made.succeed(keyEnv(NEW), "up", "--yes");
      expect((await made.run(keyEnv(OLD), "plan")).error).toContain(
        `need the key-encryption key ${idOf(NEW)}`,
      );
      const { dataKeys } = await made.list(keyEnv(NEW));
      expect(dataKeys).toMatchObject([
        { keyEncryptionKey: idOf(NEW), created: created[0] },
        { keyEncryptionKey: idOf(NEW), created: created[1] },
      ]);
      expect(await made.succeed(keyEnv(NEW), "keys", "rewrap")).toContain("nothing was changed");
    },
  );

  it("are rewrapped to a key file that is made where the former one was moved away", async () => {
    await using made = await project();
    await made.succeed({}, "up", "--yes");
    await rename(join(made.cwd, ".stackwright/key"), join(made.cwd, "old-key"));
    await made.succeed({}, "keys", "rewrap", "--from-key-file", "old-key");
    await rm(join(made.cwd, "old-key"));
    expect(await made.succeed({}, "output", "--raw", "word")).toBe("hunter2");
  });

  it("are not changed with a wrong key, and the error names the key that they need", async () => {
    await using made = await project();
    await made.succeed(keyEnv(OLD), "up", "--yes");
    await made.succeed(keyEnv(OLD), "keys", "rotate");
    await made.succeed(keyEnv(NEW), "up", "--yes", "--stack", "other");
    const before = await made.list(keyEnv(OLD));
    const env = { ...keyEnv(NEW), FORMER: WRONG.toString("base64") };
    const attempts = [
      ["keys", "rewrap", "--from-key-variable", "FORMER"],
      ["keys", "rewrap", "--from-key-variable", "FORMER", "--all-stacks"],
      ["keys", "rewrap"],
      ["keys", "rotate"],
    ];
    for (const words of attempts) {
      const { code, error, output } = await made.run(env, ...words);
      expect(code).toBe(1);
      expect(output).toBe("");
      expect(error).toContain(
        `data keys 1, 2 of the stack need the key-encryption key ${idOf(OLD)}, which was not given`,
      );
      expect(error).toContain(`the key ${idOf(NEW)} of STACKWRIGHT_KEY`);
      expect(error).toContain("Nothing was changed.");
      expect(error).not.toContain(WRONG.toString("base64"));
      expect(await made.list(keyEnv(OLD))).toEqual(before);
    }
    const short = await made.run({ ...env, FORMER: "short" }, ...(attempts[0] ?? []));
    expect(short).toMatchObject({ code: 1 });
    expect(short.error).toContain("from --from-key-variable (FORMER)");
    const both = await made.run(env, "keys", "rewrap", "--from-key-file=a", "--from-key-command=b");
    expect(both.error).toContain("Use one of --from-key-file");
    expect(await made.succeed(keyEnv(OLD), "output", "--raw", "word")).toBe("hunter2");
  });

  it("of all stacks are rewrapped; a command that was interrupted in between is repeated", async () => {
    await using made = await project();
    for (const stack of ["a", "b", "c"]) {
      await made.succeed(keyEnv(OLD), "up", "--yes", "--stack", stack);
    }
    // As after an end between the first stack and the second.
    {
      const directory = join(made.cwd, ".stackwright/store");
      await using store = await openStore(
        { kind: "sqlite", directory },
        { blobDirectory: join(made.cwd, ".stackwright/blobs") },
      );
      const { storage } = store;
      const place = { account: "default", project: "default" };
      const first = await new StackDirectory({ storage }).find(place, "a");
      const [current, former] = [keyEncryptionKey(NEW), keyEncryptionKey(OLD)];
      const keys = createStoredKeys({ storage, current, former: [former] });
      expect(await keys.rewrap(first?.reference ?? { ...place, stack: "" })).toEqual([1]);
    }
    const env = { ...keyEnv(NEW), FORMER: OLD.toString("base64") };
    const words = ["keys", "rewrap", "--all-stacks", "--from-key-variable", "FORMER"];
    const said = await made.succeed(env, ...words);
    expect(said).toContain('"a" has no data key of a former key-encryption key');
    for (const stack of ["b", "c"]) expect(said).toContain(`The stack "${stack}": the key`);
    for (const stack of ["a", "b", "c"]) {
      const output = ["output", "--raw", "word", "--stack", stack];
      expect(await made.succeed(keyEnv(NEW), ...output)).toBe("hunter2");
    }
    expect(await made.succeed(env, ...words)).not.toContain("wraps data");
  });

  it("of variable sets are rewrapped with those of all stacks, or none where one cannot be unwrapped", async () => {
    await using made = await project();
    await made.succeed(keyEnv(OLD), "up", "--yes");
    const place = { account: "default", project: "default" };
    const keysOfSets = async (wrapping: Buffer, make: boolean) => {
      await using store = await openStore(
        { kind: "sqlite", directory: join(made.cwd, ".stackwright/store") },
        { blobDirectory: join(made.cwd, ".stackwright/blobs") },
      );
      const { storage } = store;
      const keys = createStoredKeys({ storage, current: keyEncryptionKey(wrapping) });
      if (make) await keys.ensure(variableSetKeys(place));
      // What a server makes with a connection to a Git server.
      if (make) await keys.ensure({ ...place, stack: "vcs-connections" });
      return (await keys.list(variableSetKeys(place))).map(({ wrappedBy }) => wrappedBy);
    };
    expect(await keysOfSets(OLD, true)).toEqual([idOf(OLD)]);
    const words = ["keys", "rewrap", "--all-stacks", "--from-key-variable", "FORMER"];
    const wrong = { ...keyEnv(NEW), FORMER: WRONG.toString("base64") };
    expect((await made.run(wrong, ...words)).error).toContain("variable sets:");
    const env = { ...keyEnv(NEW), FORMER: OLD.toString("base64") };
    const said = await made.succeed(env, ...words);
    expect(said).toContain(
      `The variable sets: the key-encryption key ${idOf(NEW)} wraps data key 1`,
    );
    expect(said).toContain("The connections to Git servers: the key-encryption key");
    expect(await keysOfSets(NEW, false)).toEqual([idOf(NEW)]);
    expect(await made.succeed(env, ...words)).not.toContain("The variable sets");
  });

  it("leave everything readable that is not sensitive when the key is lost", async () => {
    await using made = await project();
    await writeFile(
      join(made.cwd, "main.tf"),
      `${template("hunter2-and-more")}
resource "terraform_data" "b" {
  input = "visible"
}
resource "terraform_data" "c" {
  input = {
    password = sensitive("hunter2-in-an-object")
    user     = "visible user"
    kind     = "object"
  }
}
output "open" { value = "visible output" }
`,
    );
    await made.succeed(keyEnv(OLD), "up", "--yes");
    for (const env of [{}, keyEnv(WRONG)]) {
      const shown = await made.run(env, "show");
      expect(shown.code).toBe(0);
      expect(shown.error).toContain("Warning: Sensitive values are omitted: ");
      expect(shown.error).toContain(idOf(OLD));
      expect(shown.output).toContain('"visible"');
      expect(shown.output).toContain("(sensitive value; key missing)");
      expect(shown.output).toContain('open = "visible output"');
      expect(shown.output).toContain("word = (sensitive value; key missing)");
      const one = await made.run(env, "state", "show", "terraform_data.a");
      expect([one.code, one.output.includes("key missing")]).toEqual([0, true]);
      expect(one.output).toMatch(/id += "/);
      // Of an object only that is omitted which is sensitive, in the input and where the provider repeats it.
      const part = (await made.run(env, "state", "show", "terraform_data.c")).output;
      expect(part.match(/password += \(sensitive value; key missing\)/g)).toHaveLength(2);
      expect(part.match(/user += "visible user"/g)).toHaveLength(2);
      expect(part.match(/kind += "object"/g)).toHaveLength(2);
      const outputs = await made.run(env, "output");
      expect(outputs.output).toBe(
        'open = "visible output"\nword = (sensitive value; key missing)\n',
      );
      const json = JSON.parse((await made.run(env, "show", "--json")).output);
      expect(json.values.outputs.word).toMatchObject({ sensitive: true, value: null });
      for (const words of [
        ["show", "--show-secrets"],
        ["output", "--json"],
        ["output", "--raw", "word"],
        ["export-state"],
      ]) {
        const refused = await made.run(env, ...words);
        expect([words, refused.code]).toEqual([words, 1]);
        expect(refused.error).toContain(idOf(OLD));
      }
      expect(shown.output + outputs.output + one.output + part).not.toContain("hunter2");
    }
    expect((await made.run(keyEnv(OLD), "show")).output).not.toContain("key missing");
  });

  it("leave the addresses readable when the key is lost", async () => {
    await using made = await project();
    await made.succeed({}, "up", "--yes");
    await rm(join(made.cwd, ".stackwright/key"));
    expect(await made.succeed({}, "state", "list")).toBe("terraform_data.a\n");
    expect((await made.run({}, "plan")).code).toBe(1);
  });

  it("of a stack that does not exist are not made", async () => {
    await using made = await project();
    for (const words of [["list"], ["rotate"], ["rewrap"]]) {
      const { code, error } = await made.run({}, "keys", ...words);
      expect(code).toBe(1);
      expect(error).toContain('The stack "default" does not exist.');
    }
    await made.succeed({}, "up", "--yes", "--stack", "a");
    expect((await made.run({}, "keys", "rotate", "--stack", "b")).code).toBe(1);
    expect(await made.succeed({}, "stacks")).not.toContain(" b ");
  });
});
