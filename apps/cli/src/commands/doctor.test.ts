import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startServer } from "../testing/start-server.ts";
import { tryCommand } from "../testing/try-command.ts";

it("names what is stuck, with an exit code for scripts", { timeout: 60_000 }, async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "doctor-"));
  onTestFinished(() => scratch.remove());
  const { server, token } = await startServer("none");
  const settings = { HOME: scratch.path, STACKWRIGHT_SERVER: server.url };
  const doctor = async (secret: string, ...words: readonly string[]) =>
    tryCommand(["server", "doctor", ...words], {
      cwd: scratch.path,
      env: { ...settings, STACKWRIGHT_TOKEN: secret },
    });
  const healthy = await doctor(token);
  expect([healthy.code, healthy.output]).toEqual([0, "Nothing is stuck.\n"]);

  // A token that its user has, and that ends soon.
  const account = { account: "default", roles: ["admin"] as const, projects: [] };
  const expireTimeMs = Date.now() + 3_600_000;
  const ending = await server.credentials.createToken({ ...account, expireTimeMs });
  const named = await doctor(ending.token);
  expect(named.code, named.error).toBe(0);
  expect(named.output).toMatch(
    /^warning token_expires: token-\w+ ends at .*\n {2}Make another token/,
  );
  expect(named.error).toContain("needs the role site-admin");
  const strict = await doctor(ending.token, "--strict", "--json");
  expect(strict.code).toBe(2);
  expect(JSON.parse(strict.output)).toMatchObject({
    total: 1,
    server: false,
    findings: [{ code: "token_expires", severity: "warning" }],
  });
  const reader = await server.credentials.createToken({ ...account, roles: ["reader"] });
  const refused = await doctor(reader.token);
  expect([refused.code, refused.error]).toEqual([1, expect.stringContaining("admin")]);
});
