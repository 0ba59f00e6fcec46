/// \file Building and the work of nodes.
#include "program.hpp"

#include <algorithm>
#include <cstring>

#include "device_arenas.hpp"
#include "direct_access.hpp"

namespace baleen::ucx {

std::uint64_t Program::message_bytes() const {
  std::uint64_t all = 0;
  for (const Node& node : nodes_) all += node.bytes;
  return all;
}

void Program::work(const Node& node) const {
  if (node.kind == Node::Kind::kCopy)
    for (std::uint32_t i = node.begin; i < node.end; ++i) std::memcpy(copies_[i].to, copies_[i].from, copies_[i].bytes);
  if (node.kind == Node::Kind::kReduce)
    for (std::uint32_t i = node.begin; i < node.end; ++i) {
      const Reduce& r = reduces_[i];
      reduction_(sources_.data() + r.sources, r.source_count, destinations_.data() + r.destinations,
                 r.destination_count, r.count);
    }
}

ProgramBuilder::ProgramBuilder(std::size_t members, std::size_t width, Reduction reduction, Scratch& scratch,
                               std::uint64_t limit, bool adds, const DirectAccess* access)
    : adds_(adds),
      access_(access),
      width_(width),
      scratch_(scratch),
      limit_(limit),
      sent_(members),
      received_(members) {
  program_.reduction_ = reduction;
  program_.width_ = width;
  scratch_.rewind(0);
}

void ProgramBuilder::use_devices(const DeviceArenas& devices, std::size_t me) {
  devices_ = &devices;
  me_ = me;
}

bool ProgramBuilder::is_on_device(const std::byte* data) const { return devices_ && devices_->holds(data); }

ProgramBuilder::Id ProgramBuilder::add(Node node, const std::vector<Id>& needs) {
  const Id id = static_cast<Id>(program_.nodes_.size());
  node.on_device = is_on_device(node.data);
  node.piece = static_cast<std::uint32_t>(program_.pieces_.size() - 1);
  for (const Id need : needs) {
    if (need == Program::kNone) continue;
    edges_.emplace_back(need, id);
    ++node.needs;
  }
  program_.nodes_.push_back(node);
  return id;
}

ProgramBuilder::Id ProgramBuilder::join(const std::vector<Id>& needs) {
  std::vector<Id> real;
  std::copy_if(needs.begin(), needs.end(), std::back_inserter(real), [](Id id) { return id != Program::kNone; });
  if (real.size() <= 1) return real.empty() ? Program::kNone : real.front();
  return add({}, real);
}

ProgramBuilder::Id ProgramBuilder::pack(std::byte* to, const Stream& from, Range range, const std::vector<Id>& needs) {
  Node node;
  node.kind = Node::Kind::kCopy;
  node.begin = static_cast<std::uint32_t>(program_.copies_.size());
  for (const Span& span : from.slice(range)) {
    program_.copies_.push_back({to, span.data, span.bytes});
    to += span.bytes;
  }
  node.end = static_cast<std::uint32_t>(program_.copies_.size());
  return add(node, needs);
}

ProgramBuilder::Id ProgramBuilder::unpack(const Stream& to, Range range, const std::byte* from,
                                          const std::vector<Id>& needs) {
  Node node;
  node.kind = Node::Kind::kCopy;
  node.begin = static_cast<std::uint32_t>(program_.copies_.size());
  for (const Span& span : to.slice(range)) {
    program_.copies_.push_back({span.data, from, span.bytes});
    from += span.bytes;
  }
  node.end = static_cast<std::uint32_t>(program_.copies_.size());
  return add(node, needs);
}

ProgramBuilder::Id ProgramBuilder::send(std::size_t to, const Stream& stream, Range range,
                                        const std::vector<Id>& needs) {
  std::vector<Id> sends;
  for (const Range& message : messages_of(stream, range)) {
    if (access_ && access_->is_read(to, sent_[to])) {
      sends.push_back(show(to, needs));
      continue;
    }
    const std::vector<Span> spans = stream.slice(message);
    Node node;
    node.kind = Node::Kind::kSend;
    node.place = static_cast<std::uint32_t>(to);
    node.message = sent_[to]++;
    node.bytes = message.size();
    if (spans.size() == 1) {
      node.data = spans[0].data;
      sends.push_back(add(node, needs));
    } else {
      node.data = scratch(message.size());
      sends.push_back(add(node, {pack(node.data, stream, message, needs)}));
    }
  }
  return join(sends);
}

ProgramBuilder::Id ProgramBuilder::receive(std::size_t from, const Stream& stream, Range range,
                                           const std::vector<Id>& needs) {
  std::vector<Id> received;
  for (const Range& message : messages_of(stream, range)) {
    if (const std::byte* const data = next_lies_at(from)) {
      const std::uint32_t number = received_[from];
      std::vector<Id> all = needs;
      all.push_back(receive_token(from));
      received.push_back(unpack(stream, message, data, all));
      say_taken(from, number, received.back());
      continue;
    }
    const std::vector<Span> spans = stream.slice(message);
    Node node;
    node.kind = Node::Kind::kReceive;
    node.place = static_cast<std::uint32_t>(from);
    node.message = received_[from]++;
    node.bytes = message.size();
    if (spans.size() == 1) {
      node.data = spans[0].data;
      received.push_back(add(node, needs));
    } else {
      node.data = scratch(message.size());
      const Id arrived = add(node, needs);
      received.push_back(unpack(stream, message, node.data, {arrived}));
    }
  }
  return join(received);
}

ProgramBuilder::Id ProgramBuilder::receive_added(std::size_t from, const Stream& own, bool own_first, const Stream& to,
                                                 const std::vector<Id>& needs) {
  std::vector<Id> added;
  for (const Range& message : messages_of(own, own.all())) {
    if (!adds_ || next_lies_at(from)) {
      const Stream mine = own.part(message);
      Stream landing = mine.moved(mine.all(), scratch(mine.bytes()));
      std::vector<Id> all = needs;
      all.push_back(borrow(from, landing));
      const Stream sum = to.part(message);
      added.push_back(reduce({own_first ? &mine : &landing, own_first ? &landing : &mine}, {&sum}, sum.all(), all));
      give_back(added.back());
      continue;
    }
    Node node;
    node.kind = Node::Kind::kReceive;
    node.own_first = own_first;
    node.place = static_cast<std::uint32_t>(from);
    node.message = received_[from]++;
    node.data = scratch(message.size());
    node.bytes = message.size();
    node.begin = static_cast<std::uint32_t>(program_.additions_.size());
    for (const Range& part : common_ranges({&own, &to}, message))
      program_.additions_.push_back(
          {own.slice(part)[0].data, to.slice(part)[0].data, part.begin - message.begin, part.size()});
    node.end = static_cast<std::uint32_t>(program_.additions_.size());
    added.push_back(add(node, needs));
  }
  return join(added);
}

// The sender's memory is free again when its reader has said so.
ProgramBuilder::Id ProgramBuilder::show(std::size_t to, const std::vector<Id>& needs) {
  Node answer;
  answer.kind = Node::Kind::kReceive;
  answer.taken = true;
  answer.place = static_cast<std::uint32_t>(to);
  answer.message = sent_[to];
  send_token(to, needs);
  return add(answer, {});
}

void ProgramBuilder::say_taken(std::size_t from, std::uint32_t message, Id done) {
  Node answer;
  answer.kind = Node::Kind::kSend;
  answer.taken = true;
  answer.place = static_cast<std::uint32_t>(from);
  answer.message = message;
  add(answer, {done});
}

const std::byte* ProgramBuilder::next_lies_at(std::size_t from) const {
  return access_ ? access_->lies_at(from, received_[from]) : nullptr;
}

ProgramBuilder::Id ProgramBuilder::borrow(std::size_t from, Stream& landing) {
  Stream found;
  std::vector<Id> arrived;
  for (const Range& message : messages_of(landing, landing.all())) {
    if (const std::byte* const data = next_lies_at(from)) {
      borrowed_.push_back({from, received_[from]});
      arrived.push_back(receive_token(from));
      found.append(landing.moved(message, const_cast<std::byte*>(data)));  // of a stream that is only read
    } else {
      arrived.push_back(receive(from, landing, message));
      found.append(landing.part(message));
    }
  }
  landing = found;
  return join(arrived);
}

void ProgramBuilder::give_back(Id done) {
  for (const Borrowed& one : borrowed_) say_taken(one.from, one.message, done);
  borrowed_.clear();
}

std::optional<Stream> ProgramBuilder::lands_at(std::size_t to, const Stream& stream) const {
  Stream found;
  std::uint32_t number = sent_[to];
  for (const Range& message : messages_of(stream, stream.all())) {
    std::byte* const data = access_ ? access_->lands_at(to, number++) : nullptr;
    if (!data) return std::nullopt;
    found.append(stream.moved(message, data));
  }
  return found;
}

void ProgramBuilder::say_written(std::size_t to, const Stream& stream, Id done) {
  for (std::size_t left = messages_of(stream, stream.all()).size(); left > 0; --left) send_token(to, {done});
}

ProgramBuilder::Id ProgramBuilder::receive_written(std::size_t from, const Stream& stream, Range range) {
  const std::vector<Range> messages = messages_of(stream, range);
  for (std::uint32_t i = 0; i < messages.size(); ++i)
    if (!access_ || !access_->is_written(from, received_[from] + i)) return receive(from, stream, range);
  std::vector<Id> written;
  for (std::size_t left = messages.size(); left > 0; --left) written.push_back(receive_token(from));
  return join(written);
}

ProgramBuilder::Id ProgramBuilder::send_token(std::size_t to, const std::vector<Id>& needs) {
  Node node;
  node.kind = Node::Kind::kSend;
  node.place = static_cast<std::uint32_t>(to);
  node.message = sent_[to]++;
  return add(node, needs);
}

ProgramBuilder::Id ProgramBuilder::receive_token(std::size_t from) {
  Node node;
  node.kind = Node::Kind::kReceive;
  node.place = static_cast<std::uint32_t>(from);
  node.message = received_[from]++;
  return add(node, {});
}

ProgramBuilder::Id ProgramBuilder::copy(const Stream& to, Range to_range, const Stream& from, Range from_range,
                                        const std::vector<Id>& needs) {
  const Stream target = to.part(to_range), source = from.part(from_range);
  Node node;
  node.kind = Node::Kind::kCopy;
  node.begin = static_cast<std::uint32_t>(program_.copies_.size());
  std::vector<Id> passed;
  for (const Range& range : common_ranges({&target, &source}, source.all())) {
    std::byte* data = target.slice(range)[0].data;
    const std::byte* given = source.slice(range)[0].data;
    if (data == given) continue;
    if (is_on_device(data) || is_on_device(given))
      passed.push_back(pass_to_self(data, given, range.size(), needs));
    else
      program_.copies_.push_back({data, given, range.size()});
  }
  node.end = static_cast<std::uint32_t>(program_.copies_.size());
  if (node.begin != node.end) passed.push_back(add(node, needs));
  return join(passed);
}

ProgramBuilder::Id ProgramBuilder::pass_to_self(std::byte* to, const std::byte* from, std::uint64_t bytes,
                                                const std::vector<Id>& needs) {
  Stream source, target;
  source.add(from, bytes);
  target.add(to, bytes);
  return join({receive(me_, target, target.all()), send(me_, source, source.all(), needs)});
}

ProgramBuilder::Id ProgramBuilder::reduce(const std::vector<const Stream*>& sources,
                                          const std::vector<const Stream*>& destinations, Range range,
                                          const std::vector<Id>& needs) {
  if (range.size() == 0) return Program::kNone;
  Node node;
  node.kind = Node::Kind::kReduce;
  node.begin = static_cast<std::uint32_t>(program_.reduces_.size());
  std::vector<const Stream*> all = sources;
  all.insert(all.end(), destinations.begin(), destinations.end());
  for (const Range& part : common_ranges(all, range)) {
    program_.reduces_.push_back({static_cast<std::uint32_t>(program_.sources_.size()),
                                 static_cast<std::uint32_t>(sources.size()),
                                 static_cast<std::uint32_t>(program_.destinations_.size()),
                                 static_cast<std::uint32_t>(destinations.size()), part.size() / width_});
    for (const Stream* source : sources) program_.sources_.push_back(source->slice(part)[0].data);
    for (const Stream* one : destinations) program_.destinations_.push_back(one->slice(part)[0].data);
  }
  node.end = static_cast<std::uint32_t>(program_.reduces_.size());
  return add(node, needs);
}

std::byte* ProgramBuilder::scratch(std::uint64_t bytes) { return scratch_.take(lane_, bytes); }

void ProgramBuilder::end_piece() {
  if (program_.nodes_.size() == program_.pieces_.back()) return;  // nothing in it
  program_.pieces_.push_back(static_cast<Id>(program_.nodes_.size()));
  lane_ = program_.piece_count() % Scratch::kLanes;
  scratch_.rewind(lane_);
}

Program ProgramBuilder::finish() {
  end_piece();
  std::stable_sort(edges_.begin(), edges_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [need, id] : edges_) {
    Node& node = program_.nodes_[need];
    if (node.next_begin == node.next_end) node.next_begin = static_cast<std::uint32_t>(program_.next_.size());
    program_.next_.push_back(id);
    node.next_end = static_cast<std::uint32_t>(program_.next_.size());
  }
  return std::move(program_);
}

}  // namespace baleen::ucx
