// As much of Apple's Foundation as the libraries name, so that they can be type-checked without Apple's SDK.
@_exported import Darwin

open class NSObject { public init() {} }
open class NSCache<KeyType: AnyObject, ObjectType: AnyObject>: NSObject {}
public protocol NSCacheDelegate: AnyObject {}
public protocol NSDiscardableContent: AnyObject {}
open class NSPurgeableData: NSObject {}
public struct Data: Sequence, Sendable {
    public init(_ bytes: some Sequence<UInt8>) {}
    public var count: Int { 0 }
    public func makeIterator() -> IndexingIterator<[UInt8]> { [].makeIterator() }
}
public final class JSONEncoder {
    public init() {}
    public func encode(_ value: some Encodable) throws -> Data { fatalError() }
}
public final class JSONDecoder {
    public init() {}
    public func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value { fatalError() }
}
public final class PropertyListEncoder {
    public init() {}
    public var outputFormat = PropertyListSerialization.PropertyListFormat.xml
    public func encode(_ value: some Encodable) throws -> Data { fatalError() }
}
public final class PropertyListDecoder {
    public init() {}
    public func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value { fatalError() }
}
public final class PropertyListSerialization {
    public enum PropertyListFormat { case xml, binary }
}
