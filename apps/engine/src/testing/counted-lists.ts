import { DelegatingStorage } from "@stackwright/storage/testing";

/** A store that counts lists of tickets, and answers them after `hold`. */
export class CountedLists extends DelegatingStorage {
  lists = 0;
  hold: Promise<void> = Promise.resolve();

  override async list(...given: Parameters<DelegatingStorage["list"]>) {
    const isOfTickets = given[1].kind === "RunTicket";
    if (isOfTickets) this.lists += 1;
    const found = await super.list(...given);
    if (isOfTickets) await this.hold;
    return found;
  }
}
