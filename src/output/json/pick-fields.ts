import type { FieldPath } from '../field-path.ts';
import type { ItemPage } from '../item-format.ts';
import { createCursor, MISSING } from './cursor.ts';

const NULL = Buffer.from('null');

/**
 * Makes the items of a page objects that hold the fields alone, in their order, named as typed. A value is the
 * item's own text of it; one that is missing is `null`, so that every line has every member.
 */
export function createPicker(fields: readonly FieldPath[]): (page: ItemPage) => ItemPage {
  const cursor = createCursor(fields);
  const leads = fields.map(({ text }, index) =>
    Buffer.from(`${index === 0 ? '{' : ','}${JSON.stringify(text)}:`),
  );
  const overhead = leads.reduce((sum, lead) => sum + lead.length + NULL.length, 2);
  return ({ bytes, spans, count }) => {
    // A value can be asked for under several paths, and a path inside another: room is found as the items are read.
    let room = Buffer.allocUnsafe(count * overhead + bytes.length);
    const moved = new Uint32Array(2 * count);
    let to = 0;
    for (let index = 0; index < count; index++) {
      cursor.read(bytes, spans[2 * index] as number);
      const needed = to + overhead + cursor.foundLength();
      if (needed > room.length) room = Buffer.concat([room.subarray(0, to)], 2 * needed);
      moved[2 * index] = to;
      for (let field = 0; field < leads.length; field++) {
        to += (leads[field] as Buffer).copy(room, to);
        const start = cursor.starts[field] as number;
        to += start === MISSING ? NULL.copy(room, to) : bytes.copy(room, to, start, cursor.ends[field]);
      }
      room[to++] = 0x7d;
      moved[2 * index + 1] = to;
      room[to++] = 0x2c;
    }
    return { bytes: room, spans: moved, count };
  };
}
