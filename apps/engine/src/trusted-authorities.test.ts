import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtempDisposable, rename, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { createSelfSignedIdentity } from "@stackwright/proto/grpc";
import { expect, it, onTestFinished } from "vitest";

const run = promisify(execFile);
const MODULE = new URL("trusted-authorities.ts", import.meta.url).href;

it("connections trust the authorities of SSL_CERT_FILE and SSL_CERT_DIR", async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-authorities-"));
  onTestFinished(() => scratch.remove());
  const identity = createSelfSignedIdentity();
  const server = createServer(
    { cert: String(identity.certificate), key: String(identity.privateKey) },
    (_request, response) => void response.end("reached"),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const file = join(scratch.path, "ca.pem");
  const folder = join(scratch.path, "certs");
  await mkdir(folder);
  await writeFile(file, String(identity.certificate));
  await writeFile(join(folder, "one.pem"), String(identity.certificate));
  const script = `import { trustAuthorities } from ${JSON.stringify(MODULE)};
    trustAuthorities(process.env);
    console.log(await fetch("https://localhost:${port}").then((one) => one.text(), () => "refused"));`;
  const reach = async (env: Readonly<Record<string, string>>): Promise<string> => {
    const { stdout } = await run(process.execPath, ["--input-type=module", "-e", script], { env });
    return stdout.trim();
  };
  expect(await reach({})).toBe("refused");
  expect(await reach({ SSL_CERT_FILE: file })).toBe("reached");
  expect(await reach({ SSL_CERT_DIR: `${scratch.path}/none:${folder}` })).toBe("reached");
  // Links to other folders are how systems keep them, with a name by digest that is a link within the folder.
  await rename(join(folder, "one.pem"), join(scratch.path, "one.crt"));
  await symlink(join(scratch.path, "one.crt"), join(folder, "one.pem"));
  await symlink("one.pem", join(folder, "0a1b2c3d.0"));
  expect(await reach({ SSL_CERT_DIR: folder, SSL_CERT_FILE: file })).toBe("reached");
  expect(await reach({ SSL_CERT_DIR: folder })).toBe("reached");
  // What Node was told to trust stays trusted beside others.
  const other = join(scratch.path, "other.pem");
  await writeFile(other, String(createSelfSignedIdentity({ name: "other.example" }).certificate));
  const extra = { NODE_EXTRA_CA_CERTS: file };
  expect(await reach({ ...extra, SSL_CERT_FILE: other })).toBe("reached");
  expect(
    await reach({ ...extra, SSL_CERT_FILE: other, SSL_CERT_DIR: `${scratch.path}/none` }),
  ).toBe("reached");
});
