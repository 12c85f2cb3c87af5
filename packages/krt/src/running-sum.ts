/** From this size on numbers are summed on a smaller scale, so that no sum of numbers overflows for good. */
const HUGE = 2 ** 900;
const SCALE = 2 ** 200;

/** A sum with the part that rounding took away (Neumaier's correction). */
class CorrectedSum {
  #total = 0;
  #lost = 0;

  add(by: number): void {
    const next = this.#total + by;
    const large = Math.abs(this.#total) >= Math.abs(by);
    this.#lost += large ? this.#total - next + by : by - next + this.#total;
    this.#total = next;
  }

  get value(): number {
    return this.#total + this.#lost;
  }
}

/**
 * A sum that numbers are added to and taken from.
 *
 * Invariant: what cannot be taken out of a floating-point sum again is not in it: `NaN` and the infinities are
 * counted, and numbers from 2^900 on are in a sum of their own, scaled down by 2^200.
 */
export class RunningSum {
  readonly #ordinary = new CorrectedSum();
  #huge: CorrectedSum | undefined;
  #nans = 0;
  #positive = 0;
  #negative = 0;

  /** Adds a number (`times` 1), or takes it out (-1). */
  shift(number: number, times: 1 | -1): this {
    if (Math.abs(number) < HUGE) this.#ordinary.add(number * times);
    else if (Number.isFinite(number)) {
      this.#huge ??= new CorrectedSum();
      this.#huge.add((number / SCALE) * times);
    } else if (number === Number.POSITIVE_INFINITY) this.#positive += times;
    else if (number === Number.NEGATIVE_INFINITY) this.#negative += times;
    else this.#nans += times;
    return this;
  }

  get value(): number {
    if (this.#nans > 0 || (this.#positive > 0 && this.#negative > 0)) return Number.NaN;
    if (this.#positive > 0) return Number.POSITIVE_INFINITY;
    if (this.#negative > 0) return Number.NEGATIVE_INFINITY;
    const { value } = this.#ordinary;
    return this.#huge === undefined ? value : value + this.#huge.value * SCALE;
  }
}
