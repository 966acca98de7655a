/** An item of the sandbox's EventTypeCollection. `share` is its share of the events, relative to the others. */
export interface EventType {
  readonly name: string;
  readonly description: string;
  readonly category: string;
  readonly version: string;
  readonly share: number;
}

const type = (name: string, share: number, description: string): EventType => ({
  name,
  description,
  category: name.slice(0, name.indexOf('.')),
  version: '1.0',
  share,
});

export const eventTypes: readonly EventType[] = [
  type('document.created', 90, 'A document was uploaded or generated from a template.'),
  type('document.viewed', 160, 'A recipient opened a document for the first time.'),
  type('document.signed', 140, 'A recipient signed a document.'),
  type('document.completed', 80, 'All recipients have signed; the final document is available.'),
  type('document.declined', 8, 'A recipient declined to sign and may have given a reason.'),
  type('document.expired', 12, 'A document reached its expiry date before all recipients had signed.'),
  type('document.deleted', 6, 'A document was deleted by its owner or by a retention rule.'),
  type('envelope.sent', 95, 'An envelope was sent to its recipients.'),
  type('envelope.delivered', 90, 'An envelope reached the mailboxes of all recipients.'),
  type('envelope.bounced', 7, 'An envelope could not be delivered to a recipient’s mailbox.'),
  type('envelope.voided', 9, 'The sender withdrew an envelope before completion.'),
  type('recipient.authenticated', 70, 'A recipient proved their identity with the requested method.'),
  type('recipient.authentication_failed', 11, 'A recipient did not pass the requested identity check.'),
  type('recipient.reassigned', 10, 'A recipient handed the signature over to someone else.'),
  type('reminder.sent', 60, 'A reminder was sent to a recipient who has not signed yet.'),
  type('template.published', 5, 'A new version of a template was published.'),
  type('user.invited', 14, 'Somebody was invited to join the organisation.'),
  type('user.deactivated', 4, 'A user of the organisation was deactivated.'),
  type('invoice.issued', 18, 'An invoice for the organisation’s account was issued.'),
  type('invoice.paid', 16, 'An invoice for the organisation’s account was paid.'),
];
