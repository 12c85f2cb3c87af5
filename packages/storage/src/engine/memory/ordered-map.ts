// A B+tree with copy-on-write snapshots.
//
// Every node carries the edit token of the tree that may change it in place. `snapshot` shares the
// root and gives both trees a new token: from then on the first writer of a node copies the nodes on its
// path and owns the copies. So a snapshot costs nothing when taken, and afterwards one copied path
// per touched leaf; a tree without snapshots is changed in place.
//
// Invariants: keys are strictly rising over the leaves from left to right; all leaves have the same
// depth; a node has at most MAX keys, and at least MIN but for the root; an inner node has one more
// child than keys, and keys[i] is <= every key below children[i + 1] and > every key below
// children[i].

const MAX = 64;
const MIN = MAX / 4;

interface Leaf<V> {
  edit: object;
  readonly keys: string[];
  readonly values: V[];
  readonly children?: undefined;
}

interface Inner<V> {
  edit: object;
  readonly keys: string[];
  readonly children: Node<V>[];
}

type Node<V> = Leaf<V> | Inner<V>;

interface Split<V> {
  readonly key: string;
  readonly right: Node<V>;
}

/** A map ordered by its string keys (UTF-16 code units), with snapshots in constant time. */
export class OrderedMap<V> {
  #edit: object = {};
  #root: Node<V> = { edit: this.#edit, keys: [], values: [] };
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The value under a key. */
  get(key: string): V | undefined {
    let node = this.#root;
    while (node.children !== undefined) node = childAt(node, upperBound(node.keys, key));
    const index = lowerBound(node.keys, key);
    return node.keys[index] === key ? node.values[index] : undefined;
  }

  /** Sets the value under a key. */
  set(key: string, value: V): void {
    this.#root = this.#own(this.#root);
    const split = this.#insert(this.#root, key, value);
    if (split === undefined) return;
    this.#root = { edit: this.#edit, keys: [split.key], children: [this.#root, split.right] };
  }

  /** Removes a key; false when it was not there. */
  delete(key: string): boolean {
    if (this.get(key) === undefined) return false;
    this.#root = this.#own(this.#root);
    this.#remove(this.#root, key);
    const root = this.#root;
    if (root.children !== undefined && root.children.length === 1) this.#root = childAt(root, 0);
    this.#size -= 1;
    return true;
  }

  /** An independent map with the same content, in constant time. */
  snapshot(): OrderedMap<V> {
    const copy = new OrderedMap<V>();
    copy.#root = this.#root;
    copy.#size = this.#size;
    this.#edit = {};
    return copy;
  }

  /**
   * The entries from a key on, in key order. The map must not change while the generator is in use;
   * iterate a snapshot where that cannot be said.
   */
  *entriesFrom(from: string): Generator<[string, V]> {
    const path: { readonly node: Inner<V>; index: number }[] = [];
    let node = this.#root;
    while (node.children !== undefined) {
      const index = upperBound(node.keys, from);
      path.push({ node, index });
      node = childAt(node, index);
    }
    let start = lowerBound(node.keys, from);
    for (;;) {
      for (let index = start; index < node.keys.length; index += 1) {
        yield [node.keys[index] as string, node.values[index] as V];
      }
      start = 0;
      let top = path.at(-1);
      while (top !== undefined && top.index + 1 >= top.node.children.length) {
        path.pop();
        top = path.at(-1);
      }
      if (top === undefined) return;
      top.index += 1;
      let next: Node<V> = childAt(top.node, top.index);
      while (next.children !== undefined) {
        path.push({ node: next, index: 0 });
        next = childAt(next, 0);
      }
      node = next;
    }
  }

  /** The node itself if this tree may change it, else a copy that it may. */
  #own<N extends Node<V>>(node: N): N {
    if (node.edit === this.#edit) return node;
    const copy: Node<V> =
      node.children === undefined
        ? { edit: this.#edit, keys: node.keys.slice(), values: node.values.slice() }
        : { edit: this.#edit, keys: node.keys.slice(), children: node.children.slice() };
    return copy as N;
  }

  #ownChild(parent: Inner<V>, index: number): Node<V> {
    const child = this.#own(childAt(parent, index));
    parent.children[index] = child;
    return child;
  }

  #insert(node: Node<V>, key: string, value: V): Split<V> | undefined {
    if (node.children === undefined) {
      const index = lowerBound(node.keys, key);
      if (node.keys[index] === key) {
        node.values[index] = value;
        return undefined;
      }
      node.keys.splice(index, 0, key);
      node.values.splice(index, 0, value);
      this.#size += 1;
      if (node.keys.length <= MAX) return undefined;
      const at = splitPoint(node.keys.length, index);
      const right: Leaf<V> = {
        edit: this.#edit,
        keys: node.keys.splice(at),
        values: node.values.splice(at),
      };
      return { key: right.keys[0] as string, right };
    }
    const index = upperBound(node.keys, key);
    const split = this.#insert(this.#ownChild(node, index), key, value);
    if (split === undefined) return undefined;
    node.keys.splice(index, 0, split.key);
    node.children.splice(index + 1, 0, split.right);
    if (node.keys.length <= MAX) return undefined;
    const at = splitPoint(node.keys.length, index);
    const right: Inner<V> = {
      edit: this.#edit,
      keys: node.keys.splice(at + 1),
      children: node.children.splice(at + 1),
    };
    return { key: node.keys.pop() as string, right };
  }

  #remove(node: Node<V>, key: string): void {
    if (node.children === undefined) {
      const index = lowerBound(node.keys, key);
      node.keys.splice(index, 1);
      node.values.splice(index, 1);
      return;
    }
    const index = upperBound(node.keys, key);
    const child = this.#ownChild(node, index);
    this.#remove(child, key);
    if (child.keys.length < MIN) this.#refill(node, index === 0 ? 0 : index - 1);
  }

  /** Merges the children at `index` and `index + 1`, or evens them out when they are too many. */
  #refill(parent: Inner<V>, index: number): void {
    const left = this.#ownChild(parent, index);
    const right = this.#ownChild(parent, index + 1);
    const separator = parent.keys[index] as string;
    if (left.children === undefined || right.children === undefined) {
      this.#refillLeaves(parent, index, left as Leaf<V>, right as Leaf<V>);
      return;
    }
    const keys = [...left.keys, separator, ...right.keys];
    const children = [...left.children, ...right.children];
    if (keys.length <= MAX) {
      replace(left.keys, keys);
      replace(left.children, children);
      parent.keys.splice(index, 1);
      parent.children.splice(index + 1, 1);
      return;
    }
    const at = keys.length >>> 1;
    parent.keys[index] = keys[at] as string;
    replace(left.keys, keys.slice(0, at));
    replace(left.children, children.slice(0, at + 1));
    replace(right.keys, keys.slice(at + 1));
    replace(right.children, children.slice(at + 1));
  }

  #refillLeaves(parent: Inner<V>, index: number, left: Leaf<V>, right: Leaf<V>): void {
    const keys = [...left.keys, ...right.keys];
    const values = [...left.values, ...right.values];
    if (keys.length <= MAX) {
      replace(left.keys, keys);
      replace(left.values, values);
      parent.keys.splice(index, 1);
      parent.children.splice(index + 1, 1);
      return;
    }
    const at = keys.length >>> 1;
    parent.keys[index] = keys[at] as string;
    replace(left.keys, keys.slice(0, at));
    replace(left.values, values.slice(0, at));
    replace(right.keys, keys.slice(at));
    replace(right.values, values.slice(at));
  }
}

/** Even halves; but keys that arrive in rising order leave nodes that are three quarters full. */
function splitPoint(length: number, inserted: number): number {
  return inserted >= length - 2 ? length - MIN - 1 : length >>> 1;
}

function childAt<V>(node: Inner<V>, index: number): Node<V> {
  return node.children[index] as Node<V>;
}

/** Index of the first key >= `key`. */
function lowerBound(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((keys[middle] as string) < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Index of the first key > `key`. */
function upperBound(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((keys[middle] as string) <= key) low = middle + 1;
    else high = middle;
  }
  return low;
}

function replace<T>(target: T[], source: readonly T[]): void {
  target.length = 0;
  for (const item of source) target.push(item);
}
