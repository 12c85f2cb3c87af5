import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { CreateBucketCommand, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { sleep, systemClock } from "@stackwright/base/clock";
import { freePorts } from "@stackwright/base/free-ports";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { fetchS3 } from "./s3-package.ts";

const ENV = { AWS_ACCESS_KEY_ID: "test", AWS_SECRET_ACCESS_KEY: "test" };
const MAIN = 'output "from" { value = "s3" }\n';

/** A moto server; undefined where it is not installed. */
async function startMoto(): Promise<(AsyncDisposable & { readonly url: string }) | undefined> {
  const [port = 0] = await freePorts(1);
  const program = process.env.TEST_MOTO_SERVER ?? "moto_server";
  const child = spawn(program, ["-H", "127.0.0.1", "-p", String(port)], { stdio: "ignore" });
  const closed = once(child, "close").catch(() => undefined);
  const url = `http://127.0.0.1:${port}`;
  for (let attempt = 0; attempt < 240 && child.exitCode === null; attempt++) {
    if (child.pid === undefined) return undefined;
    await sleep(systemClock, 250);
    const answer = await fetch(`${url}/moto-api/data.json`).catch(() => undefined);
    if (answer?.ok !== true) continue;
    return {
      url,
      [Symbol.asyncDispose]: async () => {
        child.kill("SIGKILL");
        await closed;
      },
    };
  }
  return undefined;
}

/** An archive with one file. */
function archive(name: string, text: string): Buffer {
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write("0000644\0", 100);
  header.write("0000000\0", 108);
  header.write("0000000\0", 116);
  header.write(`${text.length.toString(8).padStart(11, "0")}\0`, 124);
  header.write("00000000000\0", 136);
  header.write("        ", 148);
  header.write("0", 156);
  header.write("ustar\x0000", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  const body = Buffer.alloc(512);
  body.write(text);
  return gzipSync(Buffer.concat([header, body, Buffer.alloc(1024)]));
}

describe("packages from S3", { timeout: 120_000 }, () => {
  let moto: Awaited<ReturnType<typeof startMoto>>;
  const signal = new AbortController().signal;

  beforeAll(async () => {
    moto = await startMoto();
    if (moto === undefined) return;
    const client = new S3Client({
      endpoint: moto.url,
      region: "us-east-1",
      forcePathStyle: true,
      credentials: { accessKeyId: "test", secretAccessKey: "test" },
    });
    await client.send(new CreateBucketCommand({ Bucket: "modules" }));
    const put = async (Key: string, Body: Buffer | string): Promise<unknown> =>
      client.send(new PutObjectCommand({ Bucket: "modules", Key, Body }));
    await put("a/m.tar.gz", archive("main.tf", MAIN));
    await put("tree/main.tf", MAIN);
    await put("tree/deep/x.tf", "x");
    await put("tree-other/main.tf", "other");
    client.destroy();
  }, 120_000);

  afterAll(async () => moto?.[Symbol.asyncDispose]());

  beforeEach((context) => {
    context.skip(moto === undefined, "there is no moto_server (TEST_MOTO_SERVER)");
  });

  async function fetched(path: string, file: string): Promise<string> {
    await using folder = await mkdtempDisposable(join(tmpdir(), "s3-package-"));
    await fetchS3(`${moto?.url}/modules/${path}`, folder.path, { env: ENV, signal });
    return await readFile(join(folder.path, file), "utf8");
  }

  it("are archives, with the credentials of the environment or of the address", async () => {
    expect(await fetched("a/m.tar.gz", "main.tf")).toBe(MAIN);
    const own = "aws_access_key_id=k&aws_access_key_secret=s&region=us-east-1";
    expect(await fetched(`a/m.tar.gz?${own}`, "main.tf")).toBe(MAIN);
    const wrong = `checksum=sha256:${"0".repeat(64)}`;
    await expect(fetched(`a/m.tar.gz?${wrong}`, "main.tf")).rejects.toThrow(/sha256/);
  });

  it("are all objects below a prefix that is a folder", async () => {
    expect(await fetched("tree", "deep/x.tf")).toBe("x");
    expect(await fetched("tree/", "main.tf")).toBe(MAIN);
  });

  it("are refused with the reason", async () => {
    await expect(fetched("none", "x")).rejects.toThrow('no object below "modules/none"');
    await expect(fetched("none.zip", "x")).rejects.toThrow("S3 refused");
  });
});
