import { spawnSync } from "node:child_process";
import { mkdir, readFile } from "node:fs/promises";
import { type RequestOptions, request as requestPlain } from "node:http";
import { request as requestTls } from "node:https";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect, it } from "vitest";
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
  const found = /https:\/\/localhost:\d+\/oauth\/authorize\?\S+/;
  const endMs = Date.now() + 30_000;
  while (!found.test(login.output.text) && Date.now() < endMs) await pause(20);
  const [address = ""] = found.exec(login.output.text) ?? [];
  const ca = await readFile(certificateFile);
  const page = await send(address, { ca });
  expect([page.status, page.text]).toEqual([200, expect.stringContaining("Sign in for a command")]);
  const form = new URL(address).searchParams;
  form.set("token", first.token);
  const answer = await send(address, { ca, method: "POST" }, form.toString());
  expect(answer.status).toBe(303);
  // The command may end its listener before the answer is there.
  await send(answer.location, {}).catch(() => undefined);
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

async function send(
  address: string,
  options: RequestOptions & { readonly ca?: Buffer },
  body = "",
) {
  const request = address.startsWith("https:") ? requestTls : requestPlain;
  return new Promise<{ status: number; text: string; location: string }>((resolve, reject) => {
    const sent = request(address, options, (answer) => {
      let text = "";
      answer.on("data", (chunk) => {
        text += String(chunk);
      });
      const { statusCode: status = 0, headers } = answer;
      answer.on("end", () => resolve({ status, text, location: headers.location ?? "" }));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}
