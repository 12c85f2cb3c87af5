import { DelegatingStorage } from "@stackwright/storage/testing";

/** A store whose watches are late by `lagMs`, or say nothing from `isSilent` on. */
export class LateWatches extends DelegatingStorage {
  isSilent = false;
  lagMs = 0;

  override async watchList(...given: Parameters<DelegatingStorage["watchList"]>) {
    const watch = await super.watchList(...given);
    const next = watch.next.bind(watch);
    watch.next = async (options) => {
      for (;;) {
        const event = await next(options);
        if (this.lagMs > 0) await new Promise((done) => setTimeout(done, this.lagMs));
        if (!this.isSilent) return event;
      }
    };
    return watch;
  }
}
