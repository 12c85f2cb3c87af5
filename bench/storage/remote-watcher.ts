import { createRemoteStorage } from "@stackwright/storage/remote";
import { SCOPE } from "./resources.ts";

// Entry of a process with remote watches: it opens them, says so, and says when each of them has got all events of a round.

const [port = "", count = "1"] = process.argv.slice(2);
/** As a client has a connection for many watches, and a server many clients. */
const CLIENTS = 4;

const clients = await Promise.all(
  Array.from({ length: CLIENTS }, async () =>
    createRemoteStorage({ address: { host: "127.0.0.1", port: Number(port) } }),
  ),
);
const watches = await Promise.all(
  Array.from({ length: Number(count) }, async (_, index) => {
    const watch = await clients[index % CLIENTS]?.watchList(SCOPE.type, SCOPE.tenancy, "", {
      endOfSnapshot: true,
    });
    while ((await watch?.next())?.operation !== "endOfSnapshot");
    return watch;
  }),
);

process.on("message", (events: number) => {
  void Promise.all(
    watches.map(async (watch) => {
      for (let index = 0; index < events; index += 1) await watch?.next();
    }),
  ).then(() => process.send?.("done"));
});
process.once("disconnect", () => process.exit());
process.send?.("ready");
