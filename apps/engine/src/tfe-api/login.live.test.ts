import { spawnSync } from "node:child_process";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect, it } from "vitest";
import { answerLogin, LOGIN_ADDRESS } from "../testing/answer-login.ts";
import { startApi } from "../testing/start-api.ts";
import { localhostCertificate, terraformRoot } from "../testing/terraform-roots.ts";

const COMMAND = process.env["STACKWRIGHT_TERRAFORM"] ?? "terraform";

it("terraform login gets a token by the page of the server", {
  timeout: 120_000,
}, async (context) => {
  context.skip(spawnSync(COMMAND, ["version"]).status !== 0, `${COMMAND} cannot be run here`);
  const { certificateFile, keyFile } = await localhostCertificate();
  const tls = { certificateFile, keyFile };
  const { server, first } = await startApi("none", { tls, host: "localhost" });
  const host = `localhost:${new URL(server.url).port}`;
  const { start, exec, ok, fails, write, directory, env } = await terraformRoot(COMMAND, {
    SSL_CERT_FILE: certificateFile,
    BROWSER: "true",
  });
  // With a configuration file that is named, the command does not read the stored token again.
  delete env["TF_CLI_CONFIG_FILE"];
  await mkdir(join(directory, ".terraform.d"));
  const login = start(["login", host]);
  login.child.stdin.write("yes\n");
  const endMs = Date.now() + 30_000;
  while (!LOGIN_ADDRESS.test(login.output.text) && Date.now() < endMs) await pause(20);
  const [address = ""] = LOGIN_ADDRESS.exec(login.output.text) ?? [];
  await answerLogin(address, first.token, await readFile(certificateFile));
  login.child.stdin.end();
  const { code, text } = await login.ended;
  expect([code, code === 0 ? "" : text]).toEqual([0, ""]);
  const stored = await readFile(join(directory, ".terraform.d/credentials.tfrc.json"), "utf8");
  const { token } = (JSON.parse(stored) as Stored).credentials[host] ?? { token: "" };
  expect(token).not.toBe(first.token);
  const owner = await server.credentials.tokenOwner(token);
  expect(owner?.principal).toMatchObject({ account: "default", expireTimeMs: expect.any(Number) });
  await write(
    `terraform {\n  cloud {\n    hostname = "${host}"\n    organization = "default"\n    workspaces { name = "demo" }\n  }\n}\n`,
  );
  await ok("init");
  expect((await exec("logout", host)).code).toBe(0);
  expect(await fails("plan")).toContain("Required token could not be found");
});

interface Stored {
  readonly credentials: Readonly<Record<string, { readonly token: string }>>;
}
