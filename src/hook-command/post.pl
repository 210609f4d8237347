# Posts a hook call from stdin to the service and prints the answer: what hooks of the form `perl` run.
#
#   perl post.pl SECONDS URL [NAME]     NAME: the variable with the token
#
# Exit codes are curl's: 0 answered, 2 bad arguments, 7 no connection, 18 cut off, 22 refused, 28 too late, 52 no answer.
# If it is too late while a name is looked up, SIGALRM ends it: 142 in `sh`.
# An agent starts it at every tool call, so it loads no module that it can do without: Socket takes longer than all else
# here together, `strict` and `warnings` half as long. A test runs it under both.

my $answer_bytes_max = 1024 * 1024;

my ($seconds, $url, $token_variable) = @ARGV;
my ($host, $port, $path) = ($url // '') =~ m{^http://(\[[\da-f:.]+\]|[\w.-]+)(?::(\d+))?(/[^\s]*)$}i or exit 2;
$port //= 80;
$SIG{PIPE} = 'IGNORE';
$SIG{ALRM} = sub { exit 28 };
alarm $seconds;

binmode STDIN;
my $call = do { local $/; <STDIN> } // '';
my $token = defined $token_variable ? $ENV{$token_variable} : undef;
# Names the call, and is the same in every try: the service takes a second post of one key for the first.
my $random = '';
if (open my $source, '<:raw', '/dev/urandom') { sysread $source, $random, 16 }
my $key = join '-', $$, time, unpack('H*', $random) || int rand 1e15;
my $request = join "\r\n",
  "POST $path HTTP/1.0", "host: $host:$port", 'content-type: application/json', 'content-length: ' . length $call,
  "idempotency-key: $key", (defined $token ? "authorization: Bearer $token" : ()), '', $call;

# Again where the answer was lost on its way: the call may have counted, and what it was answered is stored.
my ($code, $body) = post($request);
for (my $tries = 8; $tries > 0 && ($code == 18 || $code == 52); $tries--) {
  select undef, undef, undef, 0.25;
  my ($next, $answer) = post($request);
  # The service may be about to come back.
  ($code, $body) = ($next, $answer) if $next != 7;
}
exit $code if $code;
binmode STDOUT;
print $body;

# An exit code, and the body of an answer.
sub post {
  my ($request) = @_;
  connect_to($host, $port) or return 7;
  binmode SERVICE;
  for (my $sent = 0; $sent < length $request;) {
    # The service may answer before it closes the connection on a call that it does not accept.
    $sent += syswrite(SERVICE, $request, length($request) - $sent, $sent) // last;
  }
  read(SERVICE, my $answer, $answer_bytes_max);
  close SERVICE;
  my ($status, $head, $body) = ($answer // '') =~ m{^HTTP/1\.\d (\d{3})(.*?)\r\n\r\n(.*)}s or return 52;
  return 18 if $head =~ /\ncontent-length: *(\d+)/i && length $body < $1;
  return 22 if $status !~ /^2/;
  return (0, $body);
}

sub connect_to {
  my ($host, $port) = @_;
  for my $way (addresses($host, $port)) {
    return 1 if socket(SERVICE, $way->{family}, $way->{socktype}, 0) && connect(SERVICE, $way->{addr});
  }
  return 0;
}

# A number is laid out here as Linux has it (AF_INET 2, SOCK_STREAM 1). Any other address is worth the module.
sub addresses {
  my ($host, $port) = @_;
  return { family => 2, socktype => 1, addr => pack 'S n C4 x8', 2, $port, split /\./, $host }
    if $^O eq 'linux' && $host =~ /^\d+(?:\.\d+){3}$/;
  require Socket;
  # Perl calls a handler of its own only after the lookup, which may take minutes.
  local $SIG{ALRM} = 'DEFAULT';
  my ($error, @found) = Socket::getaddrinfo($host =~ s/^\[|\]$//gr, $port, { socktype => Socket::SOCK_STREAM() });
  return @found;
}
