import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { type RpcAddress, startServer } from "@stackwright/proto/grpc";
import { describe, expect, it } from "vitest";
import { openMonitorPlace } from "./monitor-place.ts";

const listen = async (address?: RpcAddress) =>
  startServer({ services: [], ...(address && { address }) });

describe("where a monitor listens", () => {
  it.skipIf(process.platform === "win32")(
    "is a socket of this user, and goes with it",
    async () => {
      let path = "";
      {
        await using place = await openMonitorPlace();
        const target = await place.start(listen);
        path = target.slice("unix:".length);
        expect(target).toBe(`unix:${path}`);
        expect((await stat(path)).mode & 0o777).toBe(0o600);
        expect((await stat(dirname(path))).mode & 0o777).toBe(0o700);
      }
      await expect(stat(dirname(path))).rejects.toMatchObject({ code: "ENOENT" });
    },
  );

  it("is a port of loopback on Windows", async () => {
    await using place = await openMonitorPlace("win32");
    expect(await place.start(listen)).toMatch(/^127\.0\.0\.1:\d+$/);
  });
});
