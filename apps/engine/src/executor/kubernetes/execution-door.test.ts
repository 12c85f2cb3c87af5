import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { describe, expect, it } from "vitest";
import { DOOR_KEY_BYTES, DOOR_TLS, doorIdentity, ExecutionDoor } from "./execution-door.ts";

describe("the door of executions", () => {
  it("takes 64 connections of an execution at the same time, and those of others", async () => {
    await using door = await ExecutionDoor.open({ host: "127.0.0.1", port: 0 });
    const keys = new Map(["a", "b"].map((name) => [name, randomBytes(DOOR_KEY_BYTES)]));
    const received: string[] = [];
    for (const [name, key] of keys) {
      door.expect(name, {
        key,
        onConnection: (_channel, socket) => {
          received.push(name);
          socket.resume();
          socket.write("in");
        },
      });
    }
    const open = async (name: string): Promise<TLSSocket | undefined> => {
      const psk = keys.get(name) ?? Buffer.alloc(0);
      const socket = connectTls({
        ...DOOR_TLS,
        host: "127.0.0.1",
        port: door.port,
        checkServerIdentity: () => undefined,
        pskCallback: () => ({ psk, identity: doorIdentity(name, "store") }),
      });
      socket.on("error", () => socket.destroy());
      const isIn = await new Promise<boolean>((resolve) => {
        socket.once("data", () => resolve(true));
        socket.once("close", () => resolve(false));
      });
      return isIn ? socket : undefined;
    };
    const sockets: TLSSocket[] = [];
    for (let at = 0; at < 64; at += 1) {
      const socket = await open("a");
      if (socket !== undefined) sockets.push(socket);
    }
    expect(sockets).toHaveLength(64);
    expect(await open("a")).toBeUndefined();
    const other = await open("b");
    expect(other).toBeDefined();
    // One that has ended makes room.
    sockets[0]?.destroy();
    await expect.poll(async () => (await open("a")) !== undefined).toBe(true);
    for (const socket of [...sockets, other]) socket?.destroy();
    expect(received.filter((name) => name === "b")).toHaveLength(1);
  });

  it("has places for connections with a key, however many come without one", async () => {
    const maxStrangers = 8;
    await using door = await ExecutionDoor.open({ host: "127.0.0.1", port: 0, maxStrangers });
    const key = randomBytes(DOOR_KEY_BYTES);
    const received: TLSSocket[] = [];
    using _expected = door.expect("a", {
      key,
      onConnection: (_channel, socket) => {
        received.push(socket as TLSSocket);
        socket.resume();
        socket.write("in");
      },
    });
    const visit = async (): Promise<TLSSocket> => {
      const socket = connectTls({
        ...DOOR_TLS,
        host: "127.0.0.1",
        port: door.port,
        checkServerIdentity: () => undefined,
        pskCallback: () => ({ psk: key, identity: doorIdentity("a", "store") }),
      });
      await once(socket, "data");
      return socket;
    };
    const first = await visit();
    // They say nothing, and end when they have to.
    const strangers: Socket[] = [];
    const ended: number[] = [];
    for (let at = 0; at < 3 * maxStrangers; at += 1) {
      const socket = connect({ host: "127.0.0.1", port: door.port });
      socket.on("error", () => undefined);
      socket.once("close", () => ended.push(at));
      await once(socket, "connect");
      strangers.push(socket);
    }
    await expect.poll(() => ended.length).toBe(2 * maxStrangers);
    expect(Math.max(...ended)).toBe(2 * maxStrangers - 1);
    const second = await visit();
    expect(received).toHaveLength(2);
    expect([first.destroyed, second.destroyed]).toEqual([false, false]);
    for (const socket of [...strangers, first, second]) socket.destroy();
  });
});
