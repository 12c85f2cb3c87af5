import { describe, expect, it } from "vitest";
import { Connections, resolveConnectionOptions } from "./connections.ts";

// No server is contacted: none of the calls sends a statement.
function connectionsOfOne(): Connections {
  const url = "postgres://127.0.0.1:1/unused";
  return new Connections(resolveConnectionOptions({ url, connections: 1 }));
}

describe("calls beyond the number of connections", () => {
  it("run in the order in which they came, whenever a connection is released", async () => {
    const connections = connectionsOfOne();
    const order: string[] = [];
    const release = Promise.withResolvers<void>();
    const call = (name: string) =>
      connections.run("read", async () => {
        order.push(name);
        await Promise.resolve();
      });
    const holder = connections.run("read", () => release.promise);
    const waiter = call("waiter");
    release.resolve();
    // One call in each of the microtasks that follow, so one comes between the release and the waiter's turn.
    const late: Promise<void>[] = [];
    const names: string[] = [];
    for (let i = 0; i < 20; i++) {
      names.push(`late ${i}`);
      late.push(call(`late ${i}`));
      await Promise.resolve();
    }
    await Promise.all([holder, waiter, ...late]);
    expect(order).toEqual(["waiter", ...names]);
    await connections.close();
  });

  it("come before a call that is made in the turn of the release", async () => {
    const connections = connectionsOfOne();
    for (let hops = 0; hops < 20; hops++) {
      const order: string[] = [];
      const release = Promise.withResolvers<void>();
      const call = (name: string) => connections.run("read", async () => void order.push(name));
      const holder = connections.run("read", () => release.promise);
      const waiter = call("waiter");
      release.resolve();
      for (let i = 0; i < hops; i++) await Promise.resolve();
      const late = call("late");
      await Promise.all([holder, waiter, late]);
      expect(order, `${hops} microtasks after the release`).toEqual(["waiter", "late"]);
    }
    await connections.close();
  });
});
