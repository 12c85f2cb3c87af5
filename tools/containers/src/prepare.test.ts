import { mkdtempDisposable, readdir, readFile, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DEFAULT_PORTS, prepare } from "./prepare.ts";

const compose = join(import.meta.dirname, "../../../e2e/compose.yaml");

async function prepared(directory: string, functions = 9000) {
  await prepare({
    directory,
    ports: { ...DEFAULT_PORTS, functions },
    region: "local",
    projects: ["p"],
  });
  const found = await readdir(directory, { withFileTypes: true });
  const names = found.flatMap((entry) => (entry.isFile() ? [entry.name] : []));
  const entries = names.map(async (name) => [name, await readFile(join(directory, name), "utf8")]);
  return Object.fromEntries(await Promise.all(entries)) as Record<string, string>;
}

describe("prepare", () => {
  it("makes every secret that the compose file asks for, for the owner alone", async () => {
    await using scratch = await mkdtempDisposable(join(tmpdir(), "prepare-"));
    const directory = join(scratch.path, "secrets");
    const files = await prepared(directory);
    const asked = [...(await readFile(compose, "utf8")).matchAll(/\.compose\}\/([\w.-]+)"/g)];
    // That of the workers is a token, which a server has to make: docs/compose.md says when.
    const wanted = asked.flatMap(([, name = ""]) => (name === "worker-token" ? [] : [name]));
    expect(wanted).not.toHaveLength(0);
    expect(Object.keys(files).toSorted()).toEqual([...wanted, "env"].toSorted());
    expect((await stat(directory)).mode & 0o777).toBe(0o700);

    const password = files["postgres-password"] ?? "";
    expect(password).toMatch(/^[0-9a-f]{40}$/);
    expect(JSON.parse(files["server.json"] ?? "")).toEqual({
      store: `postgres://stackwright:${password}@postgres:5432/stackwright`,
      vcsFolders: ["/srv/repositories"],
    });
    expect(Buffer.from(files["server-key"] ?? "", "base64")).toHaveLength(32);
    const key = JSON.parse(files["platform-key.json"] ?? "") as object;
    expect(JSON.parse(files["platform-accounts.json"] ?? "")).toEqual({
      accounts: [{ ...key, projects: ["p"] }],
    });
    for (const text of [files["env"], files["functions-table.json"]]) {
      expect(text).not.toContain(password);
      for (const part of Object.values(key)) expect(text).not.toContain(part);
    }
  });

  it("keeps the secrets that exist, and accepts other ports", async () => {
    await using scratch = await mkdtempDisposable(join(tmpdir(), "prepare-"));
    const first = await prepared(scratch.path);
    const second = await prepared(scratch.path, 9100);
    const { env, "functions-table.json": table, ...secrets } = second;
    expect(first).toMatchObject(secrets);
    expect(table).toContain("http://127.0.0.1:9100");
    expect(env).toContain("STACKWRIGHT_FUNCTIONS_PORT=9100\n");
  });
});
