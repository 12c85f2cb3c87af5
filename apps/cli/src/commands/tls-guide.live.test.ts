import { spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "node:tls";
import { freePorts } from "@stackwright/base/free-ports";
import { expect, it } from "vitest";
import { pageBlocks } from "../testing/page-blocks.ts";
import { createPageFolder } from "../testing/page-folder.ts";
import { spawnCommand } from "../testing/spawned-command.ts";

// docs/tls.md as a reader follows it: its commands as they are written there, with other ports.

const PAGE = "docs/tls.md";

it("the page about TLS leads to a command, a worker and terraform that trust an own authority", {
  timeout: 600_000,
}, async (context) => {
  for (const [program, word] of [
    ["terraform", "version"],
    ["openssl", "version"],
  ] as const) {
    context.skip(spawnSync(program, [word]).status !== 0, `${program} cannot be run here`);
  }
  const { folder, shell } = await createPageFolder({ NO_COLOR: "1", CHECKPOINT_DISABLE: "1" });
  const [port = 0, storagePort = 0] = await freePorts(2);
  const blocks = (await pageBlocks(PAGE, "sh")).map((block) =>
    block.replaceAll("7400", String(port)).replaceAll("7420", String(storagePort)),
  );
  expect(blocks).toHaveLength(10);
  const [certify = "", serve = "", fingerprint = "", login = "", token = "", ...others] = blocks;
  const [work = "", run = "", terraform = "", renew = "", list = ""] = others;
  /** The words of a block that is one command in the foreground. */
  const wordsOf = (block: string): string[] => block.trim().split(" ").slice(1);

  await shell(certify);
  await using server = spawnCommand(wordsOf(serve), { cwd: folder });
  await server.waitFor(/The server is at https:/);
  const first = await serverCertificate(port, join(folder, "authority.pem"));
  expect(await shell(fingerprint)).toContain(first.fingerprint256);
  expect(await shell(login)).toContain("The account has no projects.");
  await shell(token);
  await using worker = spawnCommand(wordsOf(work), { cwd: folder });
  expect(await shell(run)).toMatch(/Run 1 is applied, revision \d+\./);
  expect(worker.text()).not.toBe("");
  await shell(terraform);
  expect(await readFile(join(folder, "site/page.txt"), "utf8")).toBe("hello");

  await shell(renew);
  await expect
    .poll(
      async () =>
        (await serverCertificate(port, join(folder, "authority.pem"))).fingerprint256 ===
        first.fingerprint256,
      { timeout: 60_000, interval: 500 },
    )
    .toBe(false);
  expect(await shell(list)).toMatch(/^1 .*applied/m);
});

/** The certificate that the server presents, which has to be of the authority and for this host. */
async function serverCertificate(port: number, authority: string) {
  const ca = await readFile(authority);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect({ host: "localhost", port, servername: "localhost", ca }, resolve);
  socket.once("error", reject);
  try {
    await promise;
    return socket.getPeerCertificate();
  } finally {
    socket.destroy();
  }
}
