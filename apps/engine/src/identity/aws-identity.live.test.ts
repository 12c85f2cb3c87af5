import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts } from "@stackwright/base/free-ports";
import { expect, it, onTestFinished } from "vitest";
import { P, S, startApi } from "../testing/start-api.ts";

const PROGRAM = process.env["TEST_MOTO_SERVER"] ?? "moto_server";
const hasMoto = spawnSync(PROGRAM, ["--help"]).status === 0;
const ROLE = "arn:aws:iam::123456789012:role/deploy";

/** What a program of a run does for credentials of AWS, as its libraries do: the token is in a file that the environment names. */
const main = (sts: string, folder: string): string => `resource "terraform_data" "a" {
  provisioner "local-exec" {
    command = <<-EOT
      curl -sS --fail-with-body "${sts}/" -H "Authorization: AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/sts/aws4_request" \\
        --data-urlencode Action=AssumeRoleWithWebIdentity --data-urlencode Version=2011-06-15 \\
        --data-urlencode "RoleArn=$AWS_ROLE_ARN" --data-urlencode "RoleSessionName=$AWS_ROLE_SESSION_NAME" \\
        --data-urlencode "WebIdentityToken@$AWS_WEB_IDENTITY_TOKEN_FILE" > ${folder}/answer
    EOT
  }
}
`;

async function startMoto(): Promise<string> {
  const [port = 0] = await freePorts(1);
  const child: ChildProcess = spawn(PROGRAM, ["-H", "127.0.0.1", "-p", String(port)], {
    stdio: "ignore",
  });
  onTestFinished(async () => {
    const closed = once(child, "close");
    if (child.kill("SIGKILL")) await closed;
  });
  const url = `http://127.0.0.1:${port}`;
  const isUp = async () =>
    fetch(`${url}/moto-api/data.json`).then(
      ({ ok }) => ok,
      () => false,
    );
  await expect.poll(isUp, { timeout: 60_000 }).toBe(true);
  return url;
}

it("a run gets credentials of a role of AWS for its token, in its own name", {
  timeout: 240_000,
}, async (context) => {
  if (!hasMoto) context.skip("there is no moto_server (Python package moto)");
  const sts = await startMoto();
  await using scratch = await mkdtempDisposable(join(tmpdir(), "identity-"));
  const { call, upload } = await startApi("in-process", { provisionerProjects: ["default/web"] });
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const key = "STACKWRIGHT_IDENTITY_AWS_ROLE_ARN";
  await call("PUT", `${S}/variables/env/${key}`, { body: { value: ROLE } });
  const { digest } = (await upload({ "main.tf": main(sts, scratch.path) })).json;
  const run = await call("POST", `${S}/runs`, {
    body: { configuration: digest, auto_apply: true },
  });
  const id = String(run.json["id"]);
  const phase = async () => (await call("GET", `${S}/runs/${id}`)).json["phase"];
  await expect.poll(phase, { timeout: 120_000 }).toMatch(/^(?:failed|applied|partially_applied)$/);
  const answer = await readFile(join(scratch.path, "answer"), "utf8").catch(() => "");
  expect(answer).toContain("<AssumeRoleWithWebIdentityResult>");
  expect(answer).toMatch(/<AccessKeyId>\w{16,}<\/AccessKeyId>/);
  expect(answer).toContain(
    `<Arn>arn:aws:sts::123456789012:assumed-role/deploy/stackwright-${id}</Arn>`,
  );
});
