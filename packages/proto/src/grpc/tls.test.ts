import { createPrivateKey, X509Certificate } from "node:crypto";
import { describe, expect, it } from "vitest";
import { CLIENT_CARRIERS, shapesOver } from "../testing/shapes-fixture.ts";
import { message, ShapesService } from "../testing/shapes-service.ts";
import { createSelfSignedIdentity } from "./certificate.ts";
import { openChannel } from "./channel.ts";
import { createClient } from "./client.ts";
import type { ChannelTls, ServerTls } from "./tls.ts";

describe.each(CLIENT_CARRIERS)("over %s", (carrier) => {
  const connectShapes = shapesOver(carrier);

  const server = createSelfSignedIdentity();
  const client = createSelfSignedIdentity({ name: "the client" });
  const other = createSelfSignedIdentity();

  /** Calls over TLS; the result is the subject of the certificate that the server saw. */
  async function call(serverTls: ServerTls, channelTls: ChannelTls | undefined): Promise<string> {
    await using fixture = await connectShapes(
      { one: (_, { peer }) => message(String(peer.certificate?.subject?.CN ?? "nobody")) },
      {
        server: { tls: serverTls },
        channel: channelTls === undefined ? {} : { tls: channelTls },
      },
    );
    return (await fixture.client.one(message(""))).typeUrl;
  }

  describe("TLS", () => {
    it("authenticates the server", async () => {
      const trusted = server.certificate;
      expect(await call({ identity: server }, { trusted, serverName: "localhost" })).toBe("nobody");
    });

    it("authenticates both sides", async () => {
      const seen = await call(
        { identity: server, trusted: client.certificate },
        { trusted: server.certificate, identity: client, serverName: "localhost" },
      );
      expect(seen).toBe("the client");
    });

    it.each<[string, ServerTls, ChannelTls | undefined]>([
      [
        "a server that is not trusted",
        { identity: server },
        { trusted: other.certificate, serverName: "localhost" },
      ],
      [
        "a server of another name",
        { identity: server },
        { trusted: server.certificate, serverName: "elsewhere" },
      ],
      [
        "a client without a certificate",
        { identity: server, trusted: client.certificate },
        { trusted: server.certificate, serverName: "localhost" },
      ],
      [
        "a client that is not trusted",
        { identity: server, trusted: client.certificate },
        { trusted: server.certificate, serverName: "localhost", identity: other },
      ],
      ["a client in the clear", { identity: server }, undefined],
    ])("refuses %s", async (_, serverTls, channelTls) => {
      await expect(call(serverTls, channelTls)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    });
  });

  describe("createSelfSignedIdentity", () => {
    it("makes a certificate that verifies with its own key", () => {
      const certificate = new X509Certificate(server.certificate);
      expect(certificate.verify(certificate.publicKey)).toBe(true);
      expect(certificate.checkIssued(certificate)).toBe(true);
      expect(certificate.checkPrivateKey(createPrivateKey(String(server.privateKey)))).toBe(true);
      expect(certificate.checkHost("localhost")).toBe("localhost");
      expect(certificate.ca).toBe(true);
      expect(BigInt(`0x${certificate.serialNumber}`)).toBeGreaterThan(0n);
    });

    it.each(["2026-01-02T03:04:05.678Z", "2049-12-31T23:59:59.999Z", "2050-06-01T00:00:00.000Z"])(
      "is valid from two days before %s on, and as long as is said from five minutes before",
      (text) => {
        const now = new Date(text);
        const validMs = 3_600_000;
        const { certificate } = createSelfSignedIdentity({ now, validMs });
        const { validFromDate, validToDate } = new X509Certificate(certificate);
        const from = Math.floor((now.getTime() - 300_000) / 1000) * 1000;
        expect(validToDate.getTime()).toBe(from + validMs);
        // A clock may be set back by hours before the other side checks it.
        expect(validFromDate.getTime()).toBe(from + 300_000 - 48 * 3_600_000);
      },
    );

    it("makes a key and a serial number of its own each time", () => {
      const [a, b] = [server, other].map(({ certificate }) => new X509Certificate(certificate));
      expect(a!.serialNumber).not.toBe(b!.serialNumber);
      expect(a!.publicKey.equals(b!.publicKey)).toBe(false);
    });

    it("names a host of any length", () => {
      const name = `${"a".repeat(60)}.${"b".repeat(60)}.example`;
      const { certificate } = createSelfSignedIdentity({ name });
      expect(new X509Certificate(certificate).checkHost(name)).toBe(name);
    });

    it("takes another certificate while the server runs, and keeps the old one for a wrong one", async () => {
      await using fixture = await connectShapes(
        { one: () => message("") },
        {
          server: { tls: { identity: server } },
          channel: { tls: { trusted: server.certificate, serverName: "localhost" } },
        },
      );
      const { server: running } = fixture;
      const reach = async (identity: typeof server): Promise<void> => {
        await using channel = openChannel(running.address, {
          carrier,
          tls: { trusted: identity.certificate, serverName: "localhost" },
        });
        await createClient(ShapesService, channel).one(message(""));
      };
      await fixture.client.one(message(""));
      await reach(server);
      const mixed = { certificate: other.certificate, privateKey: server.privateKey };
      expect(() => running.replaceTls({ identity: mixed })).toThrow();
      await reach(server);
      running.replaceTls({ identity: other });
      await reach(other);
      await expect(reach(server)).rejects.toMatchObject({ code: "UNAVAILABLE" });
      // A connection that was made before continues.
      await fixture.client.one(message(""));
    });
  });
});
