type Numbers = Float64Array | Int32Array | Uint32Array | Uint8Array;

/** Returns a copy with room for `capacity` numbers. */
export function copyEnlarged<Kind extends Numbers>(array: Kind, capacity: number): Kind {
  const copy = new (array.constructor as new (length: number) => Kind)(capacity);
  copy.set(array);
  return copy;
}
